//! Budgets of commands: so many points in a window, then refused for a while.
//!
//! Windows are fixed and begin with the first charge. Time is an argument, in milliseconds since the Unix epoch.

use std::{
    collections::HashMap,
    hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState},
    net::IpAddr,
    sync::{Mutex, PoisonError},
};

use parlour_protocol::{ErrorCode, ProtocolError, Timestamp, UserId, WebhookId, limits::Rate};

/// Windows that one shard of a budget holds at most.
const SHARD_CAPACITY: usize = 8192;
const SHARDS: usize = 16;

/// Who pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Payer {
    /// An account.
    User(UserId),
    /// An address; IPv6 ones by their /64.
    Address(IpAddr),
    /// A webhook.
    Webhook(WebhookId),
    /// An account name that somebody tries to log in with, as a hash.
    Name(u64),
}

impl Payer {
    /// The payer that a folded account name is.
    pub(crate) fn name(key: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        Self::Name(hasher.finish())
    }

    /// The payer that an address is.
    pub(crate) fn address(address: IpAddr) -> Self {
        Self::Address(match address.to_canonical() {
            IpAddr::V6(address) => {
                let mut segments = address.segments();
                segments[4..].fill(0);
                IpAddr::from(segments)
            }
            address @ IpAddr::V4(_) => address,
        })
    }
}

/// A refused charge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OverBudget {
    /// Time until the block ends, in ms; at least 1.
    pub(crate) retry_after_ms: u64,
}

impl From<OverBudget> for ProtocolError {
    fn from(over: OverBudget) -> Self {
        Self::new(ErrorCode::RateLimited, format!("too many commands; wait {} ms", over.retry_after_ms))
            .retry_after(over.retry_after_ms)
    }
}

#[derive(Debug, Clone, Copy)]
struct Window {
    /// When the window, or the block, ends.
    ends: i64,
    used: u64,
    blocked: bool,
}

/// One budget, for any number of payers. Its memory is bounded: when a shard is full of live windows, those
/// that are not blocked are forgotten first.
#[derive(Debug)]
pub(crate) struct Budget {
    rate: Rate,
    hasher: RandomState,
    shards: Vec<Mutex<HashMap<Payer, Window>>>,
}

impl Budget {
    /// A budget in which nobody has spent anything.
    pub(crate) fn new(rate: Rate) -> Self {
        Self { rate, hasher: RandomState::new(), shards: (0..SHARDS).map(|_| Mutex::default()).collect() }
    }

    /// Takes `points` from a payer.
    ///
    /// # Errors
    /// When the window's points do not suffice, which begins a block, and during a block.
    pub(crate) fn charge(&self, payer: Payer, points: u32, now: Timestamp) -> Result<(), OverBudget> {
        let now = now.as_millis();
        let hash = self.hasher.hash_one(payer);
        let shard = usize::try_from(hash % SHARDS as u64).unwrap_or(0);
        let mut windows = self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner);
        if windows.len() >= SHARD_CAPACITY && !windows.contains_key(&payer) {
            make_room(&mut windows, now);
        }
        let fresh = Window { ends: now.saturating_add_unsigned(self.rate.per_ms), used: 0, blocked: false };
        let window = windows.entry(payer).or_insert(fresh);
        // A clock that stepped back must not stretch a window, nor a block, beyond its length.
        let longest = if window.blocked { self.rate.block_ms } else { self.rate.per_ms };
        if now >= window.ends || window.ends > now.saturating_add_unsigned(longest) {
            *window = fresh;
        }
        if !window.blocked {
            let used = window.used.saturating_add(points.into());
            if used <= self.rate.points.into() {
                window.used = used;
                return Ok(());
            }
            window.blocked = true;
            window.ends = now.saturating_add_unsigned(self.rate.block_ms.max(1));
        }
        Err(OverBudget { retry_after_ms: window.ends.abs_diff(now).max(1) })
    }

    #[cfg(test)]
    fn payers(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().unwrap().len()).sum()
    }
}

fn make_room(windows: &mut HashMap<Payer, Window>, now: i64) {
    windows.retain(|_, window| window.ends > now);
    if windows.len() >= SHARD_CAPACITY {
        windows.retain(|_, window| window.blocked);
    }
    if windows.len() >= SHARD_CAPACITY {
        windows.clear();
    }
}

/// The budgets of `limits.rates`.
#[derive(Debug)]
pub(crate) struct Rates {
    /// Most commands.
    pub(crate) standard: Budget,
    /// Commands that are dear to serve.
    pub(crate) slow: Budget,
    /// Calls of one webhook.
    pub(crate) webhook: Budget,
    /// Attempts to log in or register.
    pub(crate) auth: Budget,
}

impl Rates {
    /// The budgets of a configuration.
    pub(crate) fn new(rates: &std::collections::BTreeMap<String, Rate>) -> Self {
        let unlimited = Rate { points: u32::MAX, per_ms: 1, block_ms: 1 };
        let budget = |name: &str| Budget::new(rates.get(name).cloned().unwrap_or(unlimited.clone()));
        Self { standard: budget("standard"), slow: budget("slow"), webhook: budget("webhook"), auth: budget("auth") }
    }

    /// Charges a command of a user.
    ///
    /// # Errors
    /// `rate_limited`.
    pub(crate) fn charge_command(
        &self,
        op: &str,
        user_id: UserId,
        points: u32,
        now: Timestamp,
    ) -> Result<(), ProtocolError> {
        let budget = match op {
            "session.hello" | "session.ping" => return Ok(()),
            "webhook.create" | "webhook.rotate" | "emoji.createUpload" | "emoji.create" => &self.slow,
            _ => &self.standard,
        };
        Ok(budget.charge(Payer::User(user_id), points, now)?)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RATE: Rate = Rate { points: 3, per_ms: 1000, block_ms: 5000 };

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn user() -> Payer {
        Payer::User(UserId::new())
    }

    #[test]
    fn a_window_gives_its_points_and_then_blocks() {
        let budget = Budget::new(RATE);
        let ada = user();
        for millis in [0, 10, 20] {
            budget.charge(ada, 1, at(millis)).unwrap();
        }
        assert_eq!(budget.charge(ada, 1, at(30)), Err(OverBudget { retry_after_ms: 5000 }));
        assert_eq!(budget.charge(ada, 1, at(2000)), Err(OverBudget { retry_after_ms: 3030 }), "not prolonged");
        budget.charge(user(), 1, at(2000)).unwrap();
        budget.charge(ada, 1, at(5030)).unwrap();
    }

    #[test]
    fn a_charge_of_many_points_is_taken_whole_or_not_at_all() {
        let budget = Budget::new(RATE);
        let ada = user();
        budget.charge(ada, 2, at(0)).unwrap();
        budget.charge(ada, 2, at(1)).unwrap_err();
        budget.charge(ada, 3, at(6000)).unwrap();
    }

    #[test]
    fn a_clock_that_steps_back_locks_nobody_out_for_longer() {
        let budget = Budget::new(RATE);
        let ada = user();
        budget.charge(ada, 4, at(1_000_000)).unwrap_err();
        budget.charge(ada, 1, at(10)).unwrap();
    }

    #[test]
    fn addresses_of_one_ipv6_network_share_a_budget() {
        let one = Payer::address("2001:db8::1".parse().unwrap());
        assert_eq!(one, Payer::address("2001:db8::ffff:1".parse().unwrap()));
        assert_ne!(one, Payer::address("2001:db8:0:1::1".parse().unwrap()));
        assert_eq!(Payer::address("::ffff:10.0.0.1".parse().unwrap()), Payer::address("10.0.0.1".parse().unwrap()));
    }

    #[test]
    fn memory_stays_bounded_under_a_flood_of_payers() {
        let budget = Budget::new(RATE);
        for number in 0..400_000_u64 {
            budget.charge(Payer::Name(number), 1, at(0)).unwrap();
        }
        assert!(budget.payers() <= SHARDS * SHARD_CAPACITY);
    }

    #[test]
    fn hello_and_ping_cost_nothing() {
        let rates = Rates::new(&[("standard".to_owned(), RATE)].into());
        let ada = UserId::new();
        for _ in 0..10 {
            rates.charge_command("session.ping", ada, 1, at(0)).unwrap();
        }
        for _ in 0..3 {
            rates.charge_command("message.send", ada, 1, at(0)).unwrap();
        }
        let refusal = rates.charge_command("message.send", ada, 1, at(0)).unwrap_err();
        assert_eq!(refusal.code, ErrorCode::RateLimited);
        assert_eq!(refusal.retry_after_ms, Some(5000));
    }

    proptest! {
        /// In no span of one window's length are more than two windows' points given, and nothing during a block.
        #[test]
        fn a_payer_never_gets_more_than_the_rate_allows(steps in prop::collection::vec((0_i64..700, 1_u32..4), 1..200)) {
            let budget = Budget::new(RATE);
            let payer = Payer::Name(1);
            let mut now = 0;
            let mut granted: Vec<(i64, u32)> = Vec::new();
            let mut blocked_until = i64::MIN;
            for (wait, points) in steps {
                now += wait;
                match budget.charge(payer, points, at(now)) {
                    Ok(()) => {
                        prop_assert!(now >= blocked_until);
                        granted.push((now, points));
                        let recent: u32 = granted.iter().filter(|(then, _)| now - then < 1000).map(|(_, p)| p).sum();
                        prop_assert!(recent <= 2 * RATE.points);
                    }
                    Err(over) => {
                        let ends = now + i64::try_from(over.retry_after_ms).unwrap();
                        if now < blocked_until {
                            prop_assert_eq!(ends, blocked_until);
                        }
                        blocked_until = ends;
                    }
                }
            }
        }
    }
}
