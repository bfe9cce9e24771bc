//! The Parlour client.
