//! Frames, messages, model transfer and the link's state machines.
