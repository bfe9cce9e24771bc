//! Proof that an acknowledged message is on disk: the real binary on a disk that loses power,
//! and the order of its system calls.

mod unsynced;
