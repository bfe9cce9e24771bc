//! What a scenario needs before it can start: accounts, rooms, memberships. Made over the real
//! protocol, once per server for accounts, anew for each run for rooms.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::thread;

use anyhow::{Context as _, Result, anyhow};
use serde_json::{Value, json};

use crate::session::{Account, Session, register};
use crate::tokens;

/// Threads that prepare in parallel.
const HANDS: usize = 4;

#[derive(Debug, Clone)]
pub(crate) struct Accounts {
    owner: Account,
    publishers: Vec<Account>,
    members: Vec<Account>,
}

impl Accounts {
    /// Registers `publishers` log-ins for senders, who get events that others do not, and `members`
    /// for receivers. Password hashing is slow on purpose, so connections share them.
    pub(crate) fn register(address: SocketAddr, publishers: usize, members: usize) -> Result<Self> {
        // The first account is the operator; it must be there before the rest.
        let owner = register(address, "Load owner")?;
        let names: Vec<String> = (0..publishers)
            .map(|number| format!("Load sender {number}"))
            .chain((0..members).map(|number| format!("Load reader {number}")))
            .collect();
        let mut accounts = in_parallel(&names, |name| register(address, name))?;
        let publishers = accounts.drain(..publishers).collect();
        Ok(Self { owner, publishers, members: accounts })
    }

    /// The same, but every one of `count` receivers is a user of their own. Parlour only.
    pub(crate) fn with_users(&self, count: usize) -> Self {
        let members = (0..count).map(|number| Account { token: tokens::issue(number) }).collect();
        Self { members, ..self.clone() }
    }

    /// The log-in of the publisher with this number.
    pub(crate) fn publisher(&self, number: usize) -> &Account {
        &self.publishers[number % self.publishers.len()]
    }

    /// The log-in of the receiving connection with this number.
    pub(crate) fn member(&self, number: usize) -> &Account {
        &self.members[number % self.members.len()]
    }

    /// Makes `count` rooms that every publisher is in; receiver `number` of `receivers` is in `rooms_of(number)`.
    pub(crate) fn open_rooms(
        &self,
        address: SocketAddr,
        count: usize,
        receivers: usize,
        rooms_of: impl Fn(usize) -> Vec<usize>,
    ) -> Result<Vec<String>> {
        let mut owner = Session::connect(address, &self.owner.token)?;
        let names: Vec<Value> = (0..count).map(|number| json!({"name": format!("Load room {number}")})).collect();
        let rooms = texts(&owner.call_all("room.create", &names)?, "/room/roomId")?;
        let wanted: Vec<Value> = rooms.iter().map(|room_id| json!({"roomId": room_id})).collect();
        let invites = texts(&owner.call_all("invite.create", &wanted)?, "/invite/inviteId")?;

        let mut joins: Vec<(&Account, BTreeSet<usize>)> =
            self.publishers.iter().map(|account| (account, (0..count).collect())).collect();
        let mut by_member = vec![BTreeSet::new(); self.members.len()];
        for number in 0..receivers {
            by_member[number % self.members.len()].extend(rooms_of(number));
        }
        joins.extend(self.members.iter().zip(by_member));
        joins.retain(|(_, rooms)| !rooms.is_empty());
        in_parallel(&joins, |(account, rooms)| {
            let mut session = Session::connect(address, &account.token)?;
            let joins: Vec<Value> = rooms.iter().map(|room| json!({"inviteId": invites[*room]})).collect();
            session.call_all("invite.join", &joins)
        })?;
        Ok(rooms)
    }
}

fn texts(replies: &[Value], pointer: &str) -> Result<Vec<String>> {
    replies
        .iter()
        .map(|reply| Some(reply.pointer(pointer)?.as_str()?.to_owned()))
        .collect::<Option<_>>()
        .with_context(|| format!("a reply without {pointer}"))
}

/// Does `work` for each item on a few threads; results in the items' order.
fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> Result<R> + Sync) -> Result<Vec<R>> {
    let share = items.len().div_ceil(HANDS).max(1);
    let work = &work;
    thread::scope(|scope| {
        let hands: Vec<_> = items
            .chunks(share)
            .map(|items| scope.spawn(move || items.iter().map(work).collect::<Result<Vec<R>>>()))
            .collect();
        let mut results = Vec::with_capacity(items.len());
        for hand in hands {
            results.extend(hand.join().map_err(|_| anyhow!("a preparing thread panicked"))??);
        }
        Ok(results)
    })
}
