//! The fixed-point network, its training and its compressed updates.
