//! The board-agnostic federated client.
#![cfg_attr(not(test), no_std)]
