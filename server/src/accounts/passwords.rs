//! Password hashes: argon2id, off the runtime's threads, few at once.

use std::{sync::Arc, time::Duration};

use argon2::{
    Argon2,
    password_hash::{PasswordHasher, PasswordVerifier, phc::PasswordHash},
};
use parlour_protocol::Secret;
use tokio::{sync::Semaphore, task, time};

use super::AccountError;

/// Longest wait for a turn; beyond it the caller is told to try again.
const WAIT: Duration = Duration::from_secs(10);
/// Characters beyond which no password is right, so that its hash is not worth computing.
const LONGEST: usize = 4096;

/// Makes and checks password hashes.
#[derive(Debug)]
pub(crate) struct Passwords {
    /// One hash takes 19 MiB and a core for some 20 ms.
    turns: Arc<Semaphore>,
    /// The hash of nobody's password: checked when there is no account, so that this takes as long.
    nobody: String,
}

impl Passwords {
    /// Hashes at most `at_once` passwords at a time.
    pub(crate) fn new(at_once: usize) -> Self {
        let nobody = compute(&Secret::new("the password of nobody")).expect("the default parameters are valid");
        Self { turns: Arc::new(Semaphore::new(at_once)), nobody }
    }

    /// The hash of a password, with a salt of its own.
    pub(crate) async fn hash(&self, password: &str) -> Result<String, AccountError> {
        let password = Secret::new(password);
        self.in_turn(move || compute(&password)).await?.map_err(|error| AccountError::Fault(error.into()))
    }

    /// Whether a password is right. Takes as long without a hash, and is never right then.
    pub(crate) async fn verify(&self, password: &str, hash: Option<String>) -> Result<bool, AccountError> {
        let exists = hash.is_some() && password.len() <= LONGEST;
        let password = Secret::new(if password.len() <= LONGEST { password } else { "" });
        let hash = hash.unwrap_or_else(|| self.nobody.clone());
        let matches = self.in_turn(move || {
            PasswordHash::new(&hash)
                .is_ok_and(|hash| Argon2::default().verify_password(password.expose().as_bytes(), &hash).is_ok())
        });
        Ok(matches.await? && exists)
    }

    async fn in_turn<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, AccountError> {
        let turn = time::timeout(WAIT, Arc::clone(&self.turns).acquire_owned()).await;
        let turn = turn.map_err(|_| AccountError::Busy)?.map_err(|_| AccountError::Busy)?;
        let outcome = task::spawn_blocking(move || {
            let outcome = work();
            drop(turn);
            outcome
        });
        outcome.await.map_err(|error| AccountError::Fault(error.to_string().into()))
    }
}

fn compute(password: &Secret) -> Result<String, String> {
    let hash = Argon2::default().hash_password(password.expose().as_bytes());
    hash.map(|hash| hash.to_string()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_is_right_against_its_own_hash_alone() {
        let passwords = Passwords::new(1);
        let hash = passwords.hash("correct horse").await.unwrap();
        assert!(hash.starts_with("$argon2id$"));
        assert_ne!(hash, passwords.hash("correct horse").await.unwrap(), "salted");
        assert!(passwords.verify("correct horse", Some(hash.clone())).await.unwrap());
        assert!(!passwords.verify("battery staple", Some(hash.clone())).await.unwrap());
        assert!(!passwords.verify("the password of nobody", None).await.unwrap());
        assert!(!passwords.verify(&"x".repeat(5000), Some(hash)).await.unwrap());
    }
}
