//! The Parlour wire protocol.
