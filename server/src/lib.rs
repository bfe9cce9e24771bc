//! The Parlour server.
