//! The log of a round: one line for the round, one row for every client.
//!
//! Wall time is not in it, so equal runs have equal logs.

use serde::{Deserialize, Serialize, Serializer};

use crate::ClientId;

/// One line of `rounds.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundRow {
    /// The round, from 1; 0 is the introduction, where there is one.
    pub round: u32,
    /// Share of test images classified correctly, where the round was evaluated.
    pub accuracy: Option<f64>,
    /// Loss on the test set, where the round was evaluated.
    pub test_loss: Option<f64>,
    /// Share of validation images classified correctly, where there are any and the round was
    /// evaluated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation_accuracy: Option<f64>,
    /// Loss on the validation images, as the accuracy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation_loss: Option<f64>,
    /// Training loss as the base station knows it: weighted mean of each client's last report.
    pub train_loss: Option<f64>,
    /// The plan's bound on the loss after the round (Corollary 1); only where a bound decides.
    pub bound: Option<f64>,
    /// The plan's objective J.
    pub objective: Option<f64>,
    /// Estimate of the Lipschitz constant rho the plan used.
    pub rho: Option<f64>,
    /// Estimate of the smoothness beta the plan used.
    pub beta: Option<f64>,
    /// Clients whose updates were aggregated.
    pub participants: Vec<ClientId>,
    /// Largest number of epochs among them.
    pub epochs: u32,
    /// Joules all clients spent computing.
    pub compute_j: f64,
    /// Joules all clients spent on the radio.
    pub radio_j: f64,
    /// Joules all clients harvested.
    pub harvest_j: f64,
    /// Joules all clients have spent since the start, round 0 included.
    #[serde(alias = "spent_j")]
    pub cumulative_spent_j: f64,
    /// Modelled time of the broadcast.
    pub downlink_s: f64,
    /// Modelled time of the round: broadcast, training, upload of the slowest participant.
    pub round_s: f64,
    /// Clients that have spent more than they harvested so far: C5 fails for them.
    pub overdrawn: Vec<ClientId>,
    /// Clients that were drawn but could not take part, or did not deliver, with the reason.
    pub absent: Vec<Absence>,
    /// Anomalous updates; left out where there is none.
    #[serde(default, alias = "implausible", skip_serializing_if = "Vec::is_empty")]
    pub anomalies: Vec<Anomaly>,
    /// Privacy spent up to this round; only with noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub privacy: Option<PrivacyRow>,
    /// End of the run; only in the last line of one that stops on validation or on its privacy budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
}

/// Differential privacy spent since the start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrivacyRow {
    /// Epsilon of the client with the largest, at `delta`.
    pub epsilon: f64,
    /// Probability with which epsilon may fail.
    pub delta: f64,
    /// Epsilon against those who know the participants of every round; only where `epsilon` counts on
    /// their being drawn in secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epsilon_if_known: Option<f64>,
    /// Orders of the client with the most.
    pub most_orders: u32,
}

/// The end of a run that stops on validation or on its privacy budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// Cause of the end.
    pub cause: Cause,
    /// The round whose model is the run's: the one with the best validation score.
    pub kept_round: u32,
}

/// Cause of a run's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// `run.patience` evaluations brought no better validation score.
    Patience,
    /// All `run.rounds` are done.
    Rounds,
    /// Another round could exceed `privacy.epsilon`.
    Epsilon,
}

/// A client with an order but without a usable update.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Absence {
    /// The client whose update is missing.
    pub client: ClientId,
    /// Reason why the update is missing.
    pub reason: String,
}

impl Absence {
    /// The reason of a client that was drawn and got no order.
    pub const INFEASIBLE: &str = "no epoch fits before the deadline";
}

/// An anomalous update of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anomaly {
    /// The client that sent the update.
    pub client: ClientId,
    /// A description of the anomaly.
    pub what: String,
}

/// One row of `clients.csv`; its fields are the columns, in this order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientRow {
    /// The round, from 0.
    pub round: u32,
    /// The client of the row.
    pub client: ClientId,
    /// State of the client in the round.
    pub state: ClientState,
    /// Its uplink channel, if it had an order.
    pub channel: Option<usize>,
    /// Transmit power of its upload.
    #[serde(serialize_with = "in_full")]
    pub power_w: f64,
    /// Local epochs tau of its order.
    pub epochs: u32,
    /// Bytes of model sent to it.
    pub down_bytes: u64,
    /// Bytes of model it sent.
    pub up_bytes: u64,
    /// Modelled time of its training.
    #[serde(serialize_with = "in_full")]
    pub compute_s: f64,
    /// Modelled time of its upload.
    #[serde(serialize_with = "in_full")]
    pub upload_s: f64,
    /// Energy spent on computing.
    #[serde(serialize_with = "in_full")]
    pub compute_j: f64,
    /// Energy spent on the radio.
    #[serde(serialize_with = "in_full")]
    pub radio_j: f64,
    /// Energy harvested in the round.
    #[serde(serialize_with = "in_full")]
    pub harvest_j: f64,
    /// Its queue Z_i after the round: a state, not a flow of the round.
    #[serde(serialize_with = "in_full")]
    pub queue_j: f64,
    /// Income less use since the start; C5 holds while it is not negative.
    #[serde(serialize_with = "in_full")]
    pub cumulative_balance_j: f64,
    /// Whether C5 holds for the client so far.
    pub within_income: bool,
    /// The divergence delta_i the plan used, where it used one.
    #[serde(serialize_with = "in_full_if_any")]
    pub delta: Option<f64>,
}

/// Writes a number without an exponent, whatever its size.
fn in_full<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(number)
}

fn in_full_if_any<S: Serializer>(number: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match number {
        Some(number) => in_full(number, serializer),
        None => serializer.serialize_none(),
    }
}

/// State of a client in a round; `clients.csv` has the name in small letters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[derive(strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
#[serde(try_from = "String", into = "&'static str")]
pub enum ClientState {
    /// It had no order.
    #[default]
    Idle,
    /// Its update was aggregated.
    Trained,
    /// It was drawn, but not even one epoch fits before the deadline.
    Infeasible,
    /// It missed the deadline.
    Late,
    /// It did not deliver, or nothing that can be used.
    Lost,
    /// It delivered, but too few did for the rule of aggregation.
    Unused,
    /// It did not begin, for its store cannot pay for the order.
    Declined,
}

impl TryFrom<String> for ClientState {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        word.parse()
            .map_err(|_| format!("state = `{word}` is unknown"))
    }
}
