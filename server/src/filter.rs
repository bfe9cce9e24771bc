//! The word filter of a room: what it matches, and what follows.

pub(crate) mod automod;
pub(crate) mod fold;
#[cfg(test)]
mod fuzz;
mod matcher;
pub(crate) mod settings;
pub(crate) mod visible;

use std::sync::OnceLock;

use parlour_protocol::{
    Permissions,
    object::{Filter, FilterAction},
};

use self::matcher::Matcher;
pub(crate) use self::{automod::Filtered, visible::Shown};
use crate::{messages::gate, rooms::state::Access};

/// A room's filter, compiled when it is first asked.
#[derive(Debug)]
pub(crate) struct WordFilter {
    pub(crate) filter: Filter,
    matcher: OnceLock<Matcher>,
}

impl WordFilter {
    pub(crate) fn new(filter: Filter) -> Self {
        Self { filter, matcher: OnceLock::new() }
    }

    fn matches(&self, texts: &[Shown<'_>]) -> bool {
        let words = || self.filter.words.iter().map(|word| (word.word.as_str(), word.match_whole_word));
        let matcher = self.matcher.get_or_init(|| Matcher::new(words()));
        texts.iter().any(|text| matcher.matches(*text))
    }
}

/// Whether the member may write these texts. ManageMessages is exempt.
///
/// # Errors
/// What [`Filtered::punish`] then acts on: before it, whether the message was stored already has to be looked up.
pub(crate) fn check(access: &Access, texts: &[Shown<'_>]) -> Result<(), Filtered> {
    let Some(filter) = access.settings.filter.as_deref() else { return Ok(()) };
    if access.allows(Permissions::MANAGE_MESSAGES) || !filter.matches(texts) {
        return Ok(());
    }
    Err(Filtered {
        room_id: access.room().room_id,
        user_id: access.member.membership.user_id,
        action: filter.filter.action,
        timeout_ms: filter.filter.timeout_duration_ms.filter(|_| filter.filter.action == FilterAction::Timeout),
        slowmode_ms: gate::slowmode_of(access),
    })
}
