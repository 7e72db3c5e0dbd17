//! Tests that call the libraries without starting the program.

mod collapse;
mod errata;
mod paper;
mod policy;
mod safetensors;
mod server;
mod solvers;
mod vectors;
