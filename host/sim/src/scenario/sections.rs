//! The sections of a scenario; defaults are the preset `paper-mlp`.

use super::choices::{
    AggregationRule, Attack, ClientKind, Estimates, ModelBits, ServerRule, StopRule,
};
use super::class::DeviceClass;
use super::range::Range::{AtLeast, AtMost, Finite, NotNegative, Positive, Within};
use super::section::section;
use crate::policy::{BaselinePower, Claim, CreEpochs, Decider, GradientNorms, Scheduler};
use gleaner_cre::channel::FadingKind;
use gleaner_cre::estimate::DivergenceRule;
use gleaner_cre::optim::Solver;
use gleaner_learn::data::{DatasetKind, DatasetName};
use gleaner_learn::partition::Rule;
use gleaner_learn::train::ModelKind;

section!(
    /// How long a run is, and what makes it different from the next.
    Run as "run" {
        /// Seed of every random stream of the run.
        seed: u64 = 0, "";
        /// Communication rounds.
        rounds: usize = 200, "", AtLeast(1);
        /// Who decides which clients train.
        scheduler: Decider = Decider::Own(Scheduler::Cre), "";
        /// Rounds between evaluations on the test set; the last round is always evaluated.
        evaluate_every: usize = 1, "rounds", AtLeast(1);
        /// Rounds between checkpoints; 0 writes none.
        checkpoint_every: usize = 10, "rounds";
        /// What ends the run.
        stop: StopRule = StopRule::Rounds, "";
        /// Evaluations without a better validation score after which a run with `stop` =
        /// `validation` ends.
        patience: usize = 20, "evaluations", AtLeast(1);
        /// Wall time that a program of `process:COMMAND` may take for one answer; it ends runs that
        /// hang and decides nothing else.
        decision_limit_s: f64 = 60.0, "s", Within(0.001, 1e6);
    }
);

section!(
    /// The clients.
    Clients as "clients" {
        /// Number of clients U.
        count: usize = 10, "", AtLeast(1);
        /// What simulated clients compute with.
        kind: ClientKind = ClientKind::Float, "";
    }
);

section!(
    /// Where images come from.
    Data as "data" {
        /// Which samples are learnt: one of these, or the name of a set that `gleaner data import`
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
    /// How images are dealt to clients.
    Partition as "partition" {
        /// The rule of dealing.
        rule: Rule = Rule::Paper, "";
        /// Non-IID degree d: share of a client's samples that come from its own class (rule `paper`).
        non_iid_degree: f64 = 0.4, "", Within(0.0, 1.0);
        /// Mean of the number of samples D_i of a client.
        mean_samples: f64 = 1000.0, "samples", Positive;
        /// Standard deviation sigma of D_i.
        std_samples: f64 = 100.0, "samples", NotNegative;
        /// Concentration of the class proportions (rule `dirichlet`).
        dirichlet_alpha: f64 = 0.5, "", Positive;
        /// Label-sorted shards each client receives (rule `shards`).
        shards_per_client: usize = 2, "", AtLeast(1);
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
    /// Propagation between base station and clients.
    Channel as "channel" {
        /// Radius of the disc in which clients stand.
        radius_m: f64 = 500.0, "m", Positive;
        /// Carrier frequency nu.
        carrier_ghz: f64 = 2.4, "GHz", Positive;
        /// Antenna gain on top of the path loss.
        antenna_gain_db: f64 = 65.0, "dB", Finite;
        /// What multiplies the path loss.
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
        /// Largest power of a client.
        max_power_dbm: f64 = 23.0, "dBm", Finite;
        /// Noise density N0.
        noise_dbm_per_hz: f64 = -174.0, "dBm/Hz", Finite;
        /// Length of one model transfer.
        model_bits: ModelBits = ModelBits::Paper, "";
    }
);

section!(
    /// Computing and energy of a client.
    Device as "device" {
        /// Processor cycles b per sample and epoch.
        cycles_per_sample: f64 = 100.0, "cycles", Positive;
        /// Processor cycles of an epoch beside those of its samples.
        cycles_per_epoch: f64 = 0.0, "cycles", NotNegative;
        /// Processor clock f.
        frequency_hz: f64 = 5e8, "Hz", Positive;
        /// Energy coefficient alpha: one cycle costs alpha f^2 joules.
        energy_coefficient: f64 = 1e-26, "J s^2", Positive;
        /// Energy of starting an epoch, whatever its length.
        epoch_j: f64 = 0.0, "J", NotNegative;
        /// Processor cycles of bringing the model up to date with the broadcast.
        apply_cycles: f64 = 0.0, "cycles", NotNegative;
        /// Processor cycles per sample of finding the loss of the trained model.
        evaluate_cycles_per_sample: f64 = 0.0, "cycles", NotNegative;
        /// Processor cycles of coding the update.
        encode_cycles: f64 = 0.0, "cycles", NotNegative;
        /// Power drawn while the broadcast is heard.
        receive_w: f64 = 0.0, "W", NotNegative, AtMost(1000);
        /// Power drawn while sending beside what is radiated, the waiting processor's included.
        circuit_w: f64 = 0.0, "W", NotNegative, AtMost(1000);
        /// Radiated power over the power the amplifier draws for it, to the thousandth.
        amplifier_efficiency: f64 = 1.0, "", Within(0.001, 1.0);
        /// Energy of starting an upload, whatever its length.
        upload_j: f64 = 0.0, "J", NotNegative;
        /// Power drawn by a participant that waits for the end of the deadline.
        idle_w: f64 = 0.0, "W", NotNegative, AtMost(1000);
        /// Power drawn asleep, until the next round begins.
        sleep_w: f64 = 0.0, "W", NotNegative, AtMost(1000);
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
    /// The CRE scheduler.
    Cre as "cre" {
        /// Lyapunov factor V: the weight of learning against energy.
        v: f64 = 0.001, "", NotNegative;
        /// B_1 of the loss bound; a tuning knob, see docs/guide/simulate.md.
        b1: f64 = 0.3, "", Positive;
        /// Loss F* of the best model.
        best_loss: f64 = 0.0, "", Finite;
        /// Energies inside the objective are divided by this before squaring.
        energy_unit_j: f64 = 1.0, "J", Positive;
        /// How the round problem is solved.
        solver: Solver = Solver::Auto, "";
        /// How the divergence of a client's data is measured.
        delta_rule: DivergenceRule = DivergenceRule::Direction, "";
        /// Where rho, beta, delta and the loss gap come from.
        estimates: Estimates = Estimates::Oracle, "";
        /// Whose epochs are decided.
        epochs: CreEpochs = CreEpochs::Common, "";
    }
);

section!(
    /// The baselines.
    Baselines as "baselines" {
        /// Transmit power of the baselines.
        power: BaselinePower = BaselinePower::Max, "";
        /// When gradient norms are measured (`channel-allocate`, `importance-aware`).
        gradient_norms: GradientNorms = GradientNorms::Fresh, "";
        /// Fixed epochs of `channel-allocate` and `importance-aware`.
        epochs: usize = 3, "epochs", AtLeast(1);
    }
);

section!(
    /// The scheduler glean; the defaults are glean as described, other values are for comparison.
    Glean as "glean" {
        // Beyond 1 nobody may be worth the bill, and the run stalls.
        /// Weight lambda of a client's share of the bill against its claim to be heard; 0 does not
        /// look at the bill.
        lambda: f64 = 1.0, "", Within(0.0, 1.0);
        /// Epochs of every participant.
        epochs: usize = 1, "epochs", AtLeast(1);
        /// What a client's claim to be heard is.
        claim: Claim = Claim::Age, "";
    }
);

section!(
    /// From updates to the next model.
    Aggregation as "aggregation" {
        /// How updates become the next model; in a round that brings fewer than the rule needs, the
        /// model stays as it is.
        rule: AggregationRule = AggregationRule::Auto, "";
        /// Hostile clients f among a round's participants that the rule is to withstand
        /// (`trimmed-mean` needs 2 f + 1 updates, `krum` 2 f + 3).
        hostile: usize = 1, "clients", AtLeast(1);
        /// Longest update that `clip` leaves as it is, over the median length of the round.
        clip_factor: f64 = 1.5, "", Positive;
    }
);

section!(
    /// The base station's step after aggregation.
    Server as "server" {
        /// What the base station makes of an aggregated round.
        rule: ServerRule = ServerRule::Auto, "";
        /// Share of the last step that carries on (`momentum`, `nesterov`).
        momentum: f64 = 0.9, "", Within(0.0, 0.999);
        /// Length of a step over that of the aggregated movement (`momentum`, `nesterov`).
        rate: f64 = 1.0, "", Positive;
        /// Largest share of the momentum that carries on; it grows with the rounds as (k - 1) / (k + 2)
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
    /// Clients that lie, for experiments; off by default.
    Hostile as "hostile" {
        /// How many clients are hostile: the last ones.
        clients: usize = 0, "clients";
        /// What they send.
        attack: Attack = Attack::Scale, "";
        /// How much of it.
        factor: f64 = 100.0, "", Finite;
    }
);

section!(
    /// What goes wrong on the way, for experiments; off by default.
    Faults as "faults" {
        /// Share of updates that are lost: their clients have trained, sent and paid.
        lost_updates: f64 = 0.0, "", Within(0.0, 1.0);
    }
);
