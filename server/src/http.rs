//! HTTP: the accept loop and all routes.

pub(crate) mod serve;
