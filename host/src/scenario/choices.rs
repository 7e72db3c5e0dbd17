//! The words a scenario may use where a key is a choice.

use super::value::choice;

choice!(
    /// Who decides which clients train in a round.
    Scheduler {
        Random = "random", "as many random clients as there are channels, common epochs";
        RoundRobin = "round-robin", "the same number of clients in rotation, common epochs";
        Cre = "cre", "clients, channels, powers and epochs that minimise the round objective P2";
        FedNova = "fednova", "random clients, each as many epochs as it has time for, normalised averaging";
        ChannelAllocate = "channel-allocate", "channels assigned to the largest weighted gradient norms, fixed epochs";
        ImportanceAware = "importance-aware", "per fixed channel the client with the largest weighted gradient norm, fixed epochs";
    }
);

choice!(
    /// How loud the five baselines send.
    BaselinePower {
        Max = "max", "full power";
        Min = "min", "the least power that meets the deadline";
    }
);

choice!(
    /// When the gradient norms that two baselines rank clients by are measured.
    GradientNorms {
        Stale = "stale", "a client's norm is refreshed when it takes part";
        Fresh = "fresh", "every client evaluates its gradient every round, free of charge";
    }
);

choice!(
    /// Where rho, beta, delta and the loss gap come from.
    Estimates {
        Oracle = "oracle", "exact losses and gradients of last round's participants at the new model";
        Uplink = "uplink", "only what participants really upload; an introductory round is paid for";
    }
);

choice!(
    /// How the divergence delta of a client's data is measured.
    DeltaRule {
        Direction = "direction", "distance of the client's gradient, scaled to the global norm, from the global gradient";
        Paper = "paper", "the printed rule: the direction part plus a common running maximum of norm differences";
        Plain = "plain", "distance of the client's gradient from the global gradient";
    }
);

choice!(
    /// What multiplies the path loss.
    Fading {
        Normalised = "normalised", "Rician power divided by its mean";
        Power = "power", "Rician power, mean 2 sigma^2 (K + 1)";
        Amplitude = "amplitude", "Rician amplitude";
    }
);

choice!(
    /// The network that is trained.
    ModelKind {
        Mlp = "mlp", "784-50-10 perceptron, 39,760 parameters";
        Cnn = "cnn", "two 5x5 convolutions and three dense layers, 576,778 parameters";
    }
);

choice!(
    /// How many bits one model transfer is.
    ModelBits {
        Paper = "paper", "the paper's count: 318,080 for the MLP, 3,781,200 for the CNN";
        Actual = "actual", "8 bits for every parameter the network really has";
    }
);

choice!(
    /// What simulated clients compute with.
    ClientKind {
        Float = "float", "32-bit floating point";
        FixedPoint = "fixed-point", "the firmware's own integer code (MLP only)";
    }
);

choice!(
    /// Which images are learnt.
    DatasetKind {
        MnistSubset = "mnist-subset", "the part of MNIST that ships inside the program";
        Mnist = "mnist", "all of MNIST, from the data directory";
        Cifar10 = "cifar10", "CIFAR-10, from the data directory";
    }
);

choice!(
    /// How samples are dealt to clients.
    PartitionRule {
        Paper = "paper", "a share of one class per client, the rest from a common half";
        Iid = "iid", "random samples";
        Dirichlet = "dirichlet", "class proportions drawn from a Dirichlet distribution per client";
        Shards = "shards", "label-sorted shards, a few per client";
    }
);
