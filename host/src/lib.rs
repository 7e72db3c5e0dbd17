//! Gleaner's base station: channel emulation, the CRE optimiser, aggregation and simulation.
#![forbid(unsafe_code)]
