//! tmp
pub mod matrix;
pub mod student;
