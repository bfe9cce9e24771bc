//! The Parlour server. Read it in the order of a message: `ws` → `messages` → `store` → `bus` → `hub` → `ws`.

pub mod bus;
pub mod store;
