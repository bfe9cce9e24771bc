//! Who tokens stand for, remembered. An end is taken in at once: nothing read before it is remembered after it.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use parlour_protocol::{SessionId, Timestamp, UserId};

use super::{caller::Principal, tokens::TokenHash};

/// Entries of one generation; twice as many are remembered.
const CAPACITY: usize = 50_000;

/// A bounded memory of checked tokens.
#[derive(Debug, Default)]
pub(crate) struct SessionCache {
    memory: Mutex<Memory>,
}

/// Two generations: what was not used while the younger filled up is forgotten with the older.
#[derive(Debug, Default)]
struct Memory {
    young: HashMap<TokenHash, Principal>,
    old: HashMap<TokenHash, Principal>,
    /// Counts ends.
    version: u64,
}

impl SessionCache {
    /// Who a token stands for, when that is remembered.
    pub(crate) fn get(&self, token: &TokenHash, now: Timestamp) -> Option<Principal> {
        let mut memory = self.lock();
        let principal = match memory.young.get(token) {
            Some(principal) => principal.clone(),
            None => {
                let principal = memory.old.remove(token)?;
                memory.insert(*token, principal.clone());
                principal
            }
        };
        // Had its session ended until now, it would not be here.
        (principal.expires_at > now).then_some(Principal { checked_at: memory.version, ..principal })
    }

    /// Stands for all ends so far. Take it before reading what is to be remembered.
    pub(crate) fn version(&self) -> u64 {
        self.lock().version
    }

    /// Remembers what was read at `version`, unless a session ended meanwhile; whether it did.
    pub(crate) fn remember(&self, token: TokenHash, principal: &Principal, version: u64) -> bool {
        let mut memory = self.lock();
        let current = memory.version == version;
        if current {
            memory.insert(token, principal.clone());
        }
        current
    }

    /// Forgets the tokens of a session.
    pub(crate) fn end_session(&self, session_id: SessionId) {
        self.lock().forget(|principal| principal.session_id == session_id);
    }

    /// Forgets the tokens of an account.
    pub(crate) fn end_user(&self, user_id: UserId) {
        self.lock().forget(|principal| principal.user_id == user_id);
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        self.lock().forget(|_| true);
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory {
    fn insert(&mut self, token: TokenHash, principal: Principal) {
        if self.young.len() >= CAPACITY {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(token, principal);
    }

    fn forget(&mut self, concerned: impl Fn(&Principal) -> bool) {
        self.version += 1;
        self.young.retain(|_, principal| !concerned(principal));
        self.old.retain(|_, principal| !concerned(principal));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1000);

    fn principal() -> Principal {
        Principal {
            user_id: UserId::new(),
            session_id: SessionId::new(),
            expires_at: Timestamp::from_millis(2000),
            is_operator: false,
            is_foreign: false,
            checked_at: 0,
        }
    }

    #[test]
    fn what_was_read_before_an_end_is_not_remembered_after_it() {
        let cache = SessionCache::default();
        let ada = principal();
        let version = cache.version();
        cache.end_session(ada.session_id);
        assert!(!cache.remember([1; 32], &ada, version));
        assert_eq!(cache.get(&[1; 32], NOW), None);
    }

    #[test]
    fn an_end_forgets_every_token_concerned_and_no_other() {
        let cache = SessionCache::default();
        let (ada, bob) = (principal(), principal());
        assert!(
            cache.remember([1; 32], &ada, 0) && cache.remember([2; 32], &ada, 0) && cache.remember([3; 32], &bob, 0)
        );
        cache.end_user(ada.user_id);
        assert_eq!((cache.get(&[1; 32], NOW), cache.get(&[2; 32], NOW)), (None, None));
        assert_eq!(cache.get(&[3; 32], NOW), Some(Principal { checked_at: 1, ..bob }));
    }

    #[test]
    fn an_expired_token_stands_for_nobody() {
        let cache = SessionCache::default();
        assert!(cache.remember([1; 32], &principal(), 0));
        assert!(cache.get(&[1; 32], Timestamp::from_millis(1999)).is_some());
        assert!(cache.get(&[1; 32], Timestamp::from_millis(2000)).is_none());
    }

    #[test]
    fn memory_is_bounded_and_keeps_what_is_used() {
        let cache = SessionCache::default();
        let ada = principal();
        let token = |number: u64| {
            let mut token = [0; 32];
            token[..8].copy_from_slice(&number.to_le_bytes());
            token
        };
        for number in 0..200_000 {
            cache.remember(token(number), &ada, 0);
            cache.get(&token(0), NOW);
        }
        let memory = cache.lock();
        assert!(memory.young.len() <= CAPACITY && memory.old.len() <= CAPACITY);
        assert!(memory.young.contains_key(&token(0)) || memory.old.contains_key(&token(0)));
    }
}
