//! The sections of a scenario; defaults are the preset `paper-mlp`.

use super::choices::{
    AggregationRule, Attack, ClientKind, Estimates, ModelBits, NoiseSource, RateRule, ServerRule,
    StopRule, UploadRule,
};
use super::class::DeviceClass;
use super::norm_bound::NormBound;
use super::radio;
use super::range::Range::{AtLeast, AtMost, Finite, NotNegative, Positive, Within};
use super::section::section;
use super::value::Pairs;
use crate::policy::{
    BaselinePower, Claim, CommonEpochs, CreEpochs, Decider, FixedChannels, GradientNorms,
    Importance, Scheduler,
};
use gleaner_cre::channel::{FadingKind, Placement};
use gleaner_cre::estimate::DivergenceRule;
use gleaner_cre::optim::Solver;
use gleaner_learn::data::{DatasetKind, DatasetName};
use gleaner_learn::partition::Rule;
use gleaner_learn::train::ModelKind;
use gleaner_shared::mlp::Clip;

section!(
    /// Seed, length, scheduler and end of a run.
    Run as "run" {
        /// Seed of every random stream of the run.
        seed: u64 = 0, "";
        /// Number of communication rounds.
        rounds: usize = 200, "", AtLeast(1), AtMost(10_000_000);
        /// The scheduler, which decides which clients train.
        scheduler: Decider = Decider::Own(Scheduler::Cre), "";
        /// Rounds between evaluations on the test set; the last round is always evaluated.
        evaluate_every: usize = 1, "rounds", AtLeast(1);
        /// Rounds between checkpoints; 0 writes none.
        checkpoint_every: usize = 10, "rounds";
        /// Condition that ends the run.
        stop: StopRule = StopRule::Rounds, "";
        /// Evaluations without a better validation score after which a run with `stop` =
        /// `validation` ends.
        patience: usize = 20, "evaluations", AtLeast(1);
        /// Wall time that a program of `process:COMMAND` may take for one answer; it ends runs that
        /// hang and decides nothing else.
        decision_limit_s: f64 = 60.0, "s", Within(0.001, 1e6);
        /// Wall time of a round with boards, after which those without an update are absent; 0 derives
        /// it from the orders. It decides nothing else, and `--pace real` extends it as needed.
        round_limit_s: f64 = 0.0, "s", NotNegative, AtMost(1_000_000);
        /// Updates with which a round with boards closes once all other boards had twice the time that
        /// their orders should take; 0 waits for all boards until the limit.
        quorum: usize = 0, "updates";
    }
);

section!(
    /// Number and arithmetic of the clients.
    Clients as "clients" {
        // Every client has a model and samples in memory, hence the upper limit.
        /// Number of clients U.
        count: usize = 10, "", AtLeast(1), AtMost(100_000);
        /// Arithmetic of simulated clients.
        kind: ClientKind = ClientKind::Float, "";
    }
);

section!(
    /// The data set and its samples.
    Data as "data" {
        /// Name of the data set: one of these, or the name of a set that `gleaner data import`
        /// made.
        dataset: DatasetName = DatasetKind::MnistSubset.into(), "";
        /// Folder with the data files; empty means the cache that `gleaner data fetch` and `import`
        /// fill.
        directory: String = String::new(), "";
        /// Test images evaluated per evaluation; 0 means all.
        test_samples: usize = 0, "images";
        /// Training images set aside that no client owns, scored beside the test set; 0 means none.
        validation_samples: usize = 0, "images";
    }
);

section!(
    /// Partition of the samples among the clients.
    Partition as "partition" {
        /// Rule of the partition.
        rule: Rule = Rule::Paper, "";
        /// Non-IID degree d: share of a client's samples that come from its own class (rule `paper`).
        non_iid_degree: f64 = 0.4, "", Within(0.0, 1.0);
        /// Mean of the number of samples D_i of a client.
        mean_samples: f64 = 1000.0, "samples", Positive;
        /// Standard deviation sigma of D_i.
        std_samples: f64 = 100.0, "samples", NotNegative;
        /// Number of samples of every client, in client order; empty means drawn.
        sizes: Vec<usize> = Vec::new(), "samples";
        /// Concentration of the class proportions (rule `dirichlet`).
        dirichlet_alpha: f64 = 0.5, "", Positive;
        /// Label-sorted shards each client receives (rule `shards`).
        shards_per_client: usize = 2, "", AtLeast(1), AtMost(100_000);
    }
);

section!(
    /// The network and its training.
    Learning as "learning" {
        /// The network that is trained.
        model: ModelKind = ModelKind::Mlp, "";
        /// Units of the perceptron's hidden layers, one or two; its inputs and classes are those of the
        /// data.
        hidden: Vec<usize> = vec![50], "";
        /// Learning rate eta of full-batch gradient descent.
        learning_rate: f64 = 0.01, "", Positive;
    }
);

section!(
    /// The code of uploads.
    Upload as "upload" {
        /// Code of an upload, whose length decides its time and energy.
        code: UploadRule = UploadRule::Paper, "";
        /// Whether clients remember what an upload left out and add it to the next one.
        error_feedback: bool = false, "";
    }
);

section!(
    /// Propagation between base station and clients.
    Channel as "channel" {
        /// Radius of the disc in which clients stand.
        radius_m: f64 = 500.0, "m", Positive;
        /// How long a client keeps its position.
        placement: Placement = Placement::Fixed, "";
        /// Carrier frequency nu of the channel.
        carrier_ghz: f64 = 2.4, "GHz", Positive;
        /// Antenna gain on top of the path loss.
        antenna_gain_db: f64 = 65.0, "dB", Finite;
        /// Fading, a factor on the path loss.
        fading: FadingKind = FadingKind::Normalised, "";
        /// Rician K: power of the direct path over that of the scattered ones.
        rician_k: f64 = 4.0, "", NotNegative;
        /// Rician sigma of the scattered paths.
        rician_sigma: f64 = 1.0, "", Positive;
        /// CSV file with the gains of every round, as `--record-channel` writes it; the other keys of
        /// this section then have no effect. Empty means that gains are drawn.
        trace: String = String::new(), "";
    }
);

section!(
    /// The radio of both ends.
    Radio as "radio" {
        // Every client has a gain on every channel in memory, hence the upper limit.
        /// Uplink channels C; each carries at most one client a round.
        channels: usize = 3, "", AtLeast(1), AtMost(10_000);
        /// Bandwidth of one uplink channel.
        uplink_bandwidth_hz: f64 = 1e6, "Hz", Positive;
        /// Bandwidth of the broadcast.
        downlink_bandwidth_hz: f64 = 20e6, "Hz", Positive;
        /// Power of the broadcast.
        downlink_power_w: f64 = 1.0, "W", Positive;
        /// Largest power of a client; levels above it are not used.
        max_power_dbm: f64 = 23.0, "dBm", Finite;
        /// Noise power density N0.
        noise_dbm_per_hz: f64 = -174.0, "dBm/Hz", Finite;
        /// Bit rate that a power reaches.
        rate: RateRule = RateRule::Shannon, "";
        /// Largest spectral efficiency of `rate` = `capped`.
        max_bits_per_hz: f64 = 10.0, "bit/s/Hz", Positive;
        /// Largest bit rate of `rate` = `capped`.
        max_rate_bps: f64 = 1e9, "bit/s", Positive;
        /// Power levels of the transmitter with what it draws at each, rising (`gfsk`). The default is
        /// an SX1262 at 3.3 V.
        levels: Pairs = radio::sx1262_levels(), "dBm, W";
        /// Bit rates, rising, with the sensitivity of the receiver at each (`gfsk`). The default is an
        /// SX1262.
        bit_rates: Pairs = radio::sx1262_bit_rates(), "bit/s, dBm";
        /// Least excess of a received signal over the sensitivity, which pays for errors of the
        /// estimated gain (`gfsk`).
        margin_db: f64 = 3.0, "dB", NotNegative, AtMost(100);
        /// Length of one model transfer.
        model_bits: ModelBits = ModelBits::Paper, "";
        /// Error of a crystal oscillator; clients listen before the broadcast for as long as two of
        /// them may drift apart in a round.
        crystal_ppm: f64 = 0.0, "ppm", Within(0.0, 1000.0);
    }
);

section!(
    /// Computing and energy of a client.
    Device as "device" {
        /// Processor cycles b per sample and epoch.
        cycles_per_sample: f64 = 100.0, "cycles", Positive;
        /// Processor cycles per non-zero input of the client's samples and epoch.
        cycles_per_nonzero: f64 = 0.0, "cycles", NotNegative;
        /// Processor cycles of an epoch beside those of its samples.
        cycles_per_epoch: f64 = 0.0, "cycles", NotNegative;
        /// Clock frequency f of the processor.
        frequency_hz: f64 = 5e8, "Hz", Positive;
        /// Energy coefficient alpha: one cycle costs alpha f^2 joules.
        energy_coefficient: f64 = 1e-26, "J s^2", Positive;
        /// Energy of starting an epoch, whatever its length.
        epoch_j: f64 = 0.0, "J", NotNegative;
        /// Processor cycles of applying a change of the model, for a client that holds the last one.
        apply_cycles: f64 = 0.0, "cycles", NotNegative;
        /// Processor cycles of applying a whole model, for any other client.
        apply_whole_cycles: f64 = 0.0, "cycles", NotNegative;
        /// Processor cycles of evaluating the trained model, whatever the samples.
        evaluate_cycles: f64 = 0.0, "cycles", NotNegative;
        /// Processor cycles of evaluating the trained model, per sample.
        evaluate_cycles_per_sample: f64 = 0.0, "cycles", NotNegative;
        /// Processor cycles of evaluating the trained model, per non-zero input of the samples.
        evaluate_cycles_per_nonzero: f64 = 0.0, "cycles", NotNegative;
        /// Processor cycles of coding the update.
        encode_cycles: f64 = 0.0, "cycles", NotNegative;
        /// Processor cycles of measuring the length of an update; only under `[privacy]`.
        clip_cycles: f64 = 0.0, "cycles", NotNegative;
        /// Processor cycles of opening the frames of a change: cipher, checksum and stuffing.
        open_cycles: f64 = 0.0, "cycles", NotNegative;
        /// Processor cycles of opening the frames of a whole model.
        open_whole_cycles: f64 = 0.0, "cycles", NotNegative;
        /// Processor cycles of sealing the frames of an update.
        seal_cycles: f64 = 0.0, "cycles", NotNegative;
        /// Power drawn while receiving the broadcast.
        receive_w: f64 = 0.0, "W", NotNegative, AtMost(1000);
        /// Power drawn while transmitting beside the amplifier or the level, including the idle processor.
        circuit_w: f64 = 0.0, "W", NotNegative, AtMost(1000);
        /// Radiated power over the power the amplifier draws for it, to the thousandth; the levels of
        /// `radio.rate` = `gfsk` have draws of their own.
        amplifier_efficiency: f64 = 1.0, "", Within(0.001, 1.0);
        /// Energy of starting an upload, whatever its length.
        upload_j: f64 = 0.0, "J", NotNegative;
        /// Power drawn while awake without computing: starting after a brown-out.
        idle_w: f64 = 0.0, "W", NotNegative, AtMost(1000);
        /// Power drawn asleep, from the end of the upload until the next round begins.
        sleep_w: f64 = 0.0, "W", NotNegative, AtMost(1000);
        /// Time of writing the model to flash after an order.
        save_s: f64 = 0.0, "s", NotNegative, AtMost(3600);
        /// Power drawn while the model is written to flash, processor and flash.
        save_w: f64 = 0.0, "W", NotNegative, AtMost(1000);
        /// Time of starting after a brown-out.
        boot_s: f64 = 0.0, "s", NotNegative, AtMost(3600);
        /// Energy E_add harvested by every client in every round.
        harvest_j: f64 = 0.4e-3, "J", NotNegative;
        /// Deadline T_max of a round, from broadcast to upload.
        deadline_s: f64 = 0.01, "s", Positive;
        /// Classes of unlike devices, one `[[device.class]]` each; clients in none have the device
        /// above.
        class: Vec<DeviceClass> = Vec::new(), "";
    }
);

section!(
    /// Settings of the CRE scheduler.
    Cre as "cre" {
        /// Lyapunov factor V: the weight of learning against energy.
        v: f64 = 0.001, "", NotNegative;
        /// B_1 of the loss bound; a tuning knob, see docs/guide/simulate.md.
        b1: f64 = 0.3, "", Positive;
        /// Loss F* of the best model.
        best_loss: f64 = 0.0, "", Finite;
        /// Energies inside the objective are divided by this before squaring.
        energy_unit_j: f64 = 1.0, "J", Positive;
        /// Solver of the round problem.
        solver: Solver = Solver::Auto, "";
        /// Measure of the divergence of a client's data.
        delta_rule: DivergenceRule = DivergenceRule::Direction, "";
        /// Source of the estimates of rho, beta, delta and the loss gap.
        estimates: Estimates = Estimates::Oracle, "";
        /// Epochs that are decided: one number for all, or one per client.
        epochs: CreEpochs = CreEpochs::Common, "";
        /// Whether at least one client must be scheduled, even where the objective is lower without
        /// participants.
        require_participants: bool = false, "";
    }
);

section!(
    /// Settings of the baseline schedulers.
    Baselines as "baselines" {
        /// Transmit power of the baselines.
        power: BaselinePower = BaselinePower::Max, "";
        /// When gradient norms are measured (`channel-allocate`, `importance-aware`).
        gradient_norms: GradientNorms = GradientNorms::Fresh, "";
        /// Fixed epochs of `channel-allocate` and `importance-aware`.
        epochs: usize = 3, "epochs", AtLeast(1);
        /// Common epochs of `random` and `round-robin`.
        common_epochs: CommonEpochs = CommonEpochs::Most, "";
        /// Measure by which `importance-aware` ranks clients.
        importance: Importance = Importance::Weighted, "";
        /// How `importance-aware` fills its channels.
        fixed_channels: FixedChannels = FixedChannels::Residue, "";
    }
);

section!(
    /// Settings of the scheduler glean; other values than the defaults are for comparison.
    Glean as "glean" {
        // Beyond 1 nobody may be worth the bill, and the run stalls.
        /// Weight lambda of a client's share of the cost against its claim; 0 ignores the cost.
        lambda: f64 = 1.0, "", Within(0.0, 1.0);
        /// Epochs of every participant.
        epochs: usize = 1, "epochs", AtLeast(1);
        /// Claim of a client to an order.
        claim: Claim = Claim::Age, "";
    }
);

section!(
    /// Aggregation of updates to the next model.
    Aggregation as "aggregation" {
        /// Aggregation rule; in a round with fewer updates than the rule needs, the model stays as it
        /// is.
        rule: AggregationRule = AggregationRule::Auto, "";
        /// Hostile clients f among a round's participants that the rule is to withstand
        /// (`trimmed-mean` needs 2 f + 1 updates, `krum` 2 f + 3).
        hostile: usize = 1, "clients", AtLeast(1);
        /// Longest update that `clip` leaves as it is, over the median length of the round.
        clip_factor: f64 = 1.5, "", Positive;
        /// Longest update that counts in full, over the median of the lengths of all clients; a longer
        /// one is bounded to the median. A word or a factor.
        norm_bound: NormBound = NormBound::Off, "", AtLeast(1);
    }
);

section!(
    /// The base station's step after aggregation.
    Server as "server" {
        /// Step of the base station along the aggregated update.
        rule: ServerRule = ServerRule::Auto, "";
        /// Share of the last step that is added (`momentum`, `nesterov`).
        momentum: f64 = 0.9, "", Within(0.0, 0.999);
        /// Length of a step over that of the aggregated movement (`momentum`, `nesterov`).
        rate: f64 = 1.0, "", Positive;
        /// Largest share of the momentum that is kept; it grows with the rounds as (k - 1) / (k + 2)
        /// (`spectral`).
        momentum_cap: f64 = 0.95, "", Within(0.0, 0.999);
        /// Step c over the length of a layer's first weights (`spectral`).
        step: f64 = 0.08, "", Positive;
        /// Longest gradient that counts in full, over the median of all clients' last ones (`spectral`).
        clip: f64 = 2.0, "", Positive;
        /// Whether steps shrink as rounds cancel each other out (`spectral`).
        anneal: bool = true, "";
    }
);

section!(
    /// Differential privacy of the model: a bound on every update, noise on their mean, and an account of
    /// epsilon. Off by default.
    Privacy as "privacy" {
        /// Bound on the length of an update (L2 norm over all parameters), applied by clients and again
        /// by the base station; 0 turns differential privacy off.
        clip: f64 = 0.0, "", NotNegative, AtMost(65_535);
        /// Standard deviation of the noise over the sensitivity of the mean, which is twice `clip` times
        /// the largest weight; 0 adds none.
        noise_multiplier: f64 = 0.0, "", NotNegative, AtMost(1_000_000);
        /// Samples from which on a client has the largest weight; 0 means `partition.mean_samples`.
        full_samples: usize = 0, "samples", AtMost(4_294_967_295);
        /// Probability delta with which epsilon may fail; below one over the number of clients.
        delta: f64 = 1e-5, "", Within(1e-15, 0.1);
        /// Budget: the run ends before epsilon exceeds it; 0 means none.
        epsilon: f64 = 0.0, "", NotNegative;
        /// Source of the noise, and of the draws of `random` where noise is added.
        noise: NoiseSource = NoiseSource::Seed, "";
    }
);

impl Privacy {
    /// Returns whether updates are bounded.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.clip > 0.0
    }

    /// Returns the bound on updates as clients are told it.
    #[must_use]
    pub const fn bound(&self) -> Clip {
        Clip::from_real(self.clip)
    }
}

section!(
    /// Simulated attackers, for experiments; off by default.
    Hostile as "hostile" {
        /// Number of hostile clients: those with the highest numbers.
        clients: usize = 0, "clients";
        /// Attack of the hostile clients.
        attack: Attack = Attack::Scale, "";
        /// Strength of the attack.
        factor: f64 = 100.0, "", Finite;
    }
);

section!(
    /// Simulated faults, for experiments; off by default.
    Faults as "faults" {
        /// Share of updates that are lost after their clients have spent the energy.
        lost_updates: f64 = 0.0, "", Within(0.0, 1.0);
    }
);
