//! The outbox in a file, so that it survives a restart: appended and synced before a command is sent,
//! rewritten when mostly done. A torn or damaged line is left out, the rest is kept.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
};

use parlour_protocol::UserId;
use serde::{Deserialize, Serialize};

use super::{EntryId, Letter};

/// Lines beyond which a file that is mostly done is rewritten.
const COMPACT_AT: usize = 1024;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Line {
    Owner(UserId),
    Add { id: EntryId, letter: Letter },
    Done(EntryId),
}

/// What a file held.
#[derive(Debug, Default)]
pub(crate) struct Recovered {
    pub(crate) owner: Option<UserId>,
    pub(crate) letters: BTreeMap<EntryId, Letter>,
    /// Lines that could not be read.
    pub(crate) damaged: usize,
}

/// The open file. While it lives no other process can use it.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    /// Held for the lock: the file itself is replaced when it is rewritten.
    _lock: File,
    owner: Option<UserId>,
    lines: usize,
}

impl Journal {
    /// Opens or makes the file, and reads what it holds.
    pub(crate) fn open(path: &Path) -> io::Result<(Self, Recovered)> {
        let lock = OpenOptions::new().create(true).append(true).open(with_suffix(path, ".lock"))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => io::Error::new(io::ErrorKind::ResourceBusy, "in use by another process"),
            TryLockError::Error(error) => error,
        })?;
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        let recovered = read_lines(&bytes);
        // Rewriting also cuts a torn tail off, so that what is appended stands on a line of its own.
        let mut journal = Self {
            path: path.to_owned(),
            file: OpenOptions::new().create(true).append(true).open(path)?,
            _lock: lock,
            owner: recovered.owner,
            lines: 0,
        };
        journal.rewrite(&recovered.letters)?;
        Ok((journal, recovered))
    }

    /// Notes whose commands these are.
    pub(crate) fn set_owner(&mut self, owner: UserId) -> io::Result<()> {
        self.owner = Some(owner);
        self.append(&[Line::Owner(owner)])
    }

    /// Whose commands these are.
    pub(crate) fn owner(&self) -> Option<UserId> {
        self.owner
    }

    /// Adds entries; they are on disk when it returns.
    pub(crate) fn add<'a>(&mut self, letters: impl IntoIterator<Item = (EntryId, &'a Letter)>) -> io::Result<()> {
        let lines: Vec<_> = letters.into_iter().map(|(id, letter)| Line::Add { id, letter: letter.clone() }).collect();
        self.append(&lines)?;
        self.file.sync_data()
    }

    /// Notes that an entry is done. A crash may lose the note: then it is repeated, which its nonce makes safe.
    pub(crate) fn done(&mut self, id: EntryId) -> io::Result<()> {
        self.append(&[Line::Done(id)])
    }

    /// Whether rewriting the file would make it much smaller.
    pub(crate) fn wants_rewrite(&self, waiting: usize) -> bool {
        self.lines > COMPACT_AT && self.lines > waiting * 4
    }

    /// Replaces the file by one that holds only what waits.
    pub(crate) fn rewrite(&mut self, letters: &BTreeMap<EntryId, Letter>) -> io::Result<()> {
        let next = with_suffix(&self.path, ".next");
        let mut text = Vec::new();
        let owner = self.owner.map(Line::Owner);
        let adds = letters.iter().map(|(id, letter)| Line::Add { id: *id, letter: letter.clone() });
        for line in owner.into_iter().chain(adds) {
            write_line(&mut text, &line)?;
        }
        let mut file = File::create(&next)?;
        file.write_all(&text)?;
        file.sync_all()?;
        std::fs::rename(&next, &self.path)?;
        if let Some(folder) = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            File::open(folder)?.sync_all()?;
        }
        self.file = OpenOptions::new().append(true).open(&self.path)?;
        self.lines = letters.len() + 1;
        Ok(())
    }

    fn append(&mut self, lines: &[Line]) -> io::Result<()> {
        let mut text = Vec::new();
        for line in lines {
            write_line(&mut text, line)?;
        }
        self.lines += lines.len();
        self.file.write_all(&text)
    }
}

fn write_line(text: &mut Vec<u8>, line: &Line) -> io::Result<()> {
    let json = serde_json::to_string(line)?;
    writeln!(text, "{:016x} {json}", checksum(json.as_bytes()))
}

fn read_lines(bytes: &[u8]) -> Recovered {
    let mut recovered = Recovered::default();
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        match parse_line(line) {
            Some(Line::Owner(owner)) => recovered.owner = Some(owner),
            Some(Line::Add { id, letter }) => {
                recovered.letters.insert(id, letter);
            }
            Some(Line::Done(id)) => {
                recovered.letters.remove(&id);
            }
            None => recovered.damaged += 1,
        }
    }
    recovered
}

fn parse_line(line: &[u8]) -> Option<Line> {
    let (sum, json) = line.split_at_checked(17)?;
    let sum = u64::from_str_radix(std::str::from_utf8(&sum[..16]).ok()?, 16).ok()?;
    (sum == checksum(json)).then(|| serde_json::from_slice(json).ok()).flatten()
}

/// FNV-1a: finds torn and damaged lines, and is no defence against anybody.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use parlour_protocol::{Nonce, RoomId, Timestamp};
    use serde_json::json;

    use super::*;
    use crate::outbox::Patience;

    fn letter(text: &str) -> Letter {
        Letter {
            op: "message.send".into(),
            data: json!({ "message": text }),
            nonce: Nonce::random(),
            lane: Some(RoomId::new()),
            patience: Patience::Wait,
            added_at: Timestamp::from_millis(0),
        }
    }

    #[test]
    fn what_was_added_and_not_done_is_there_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("outbox");
        let owner = UserId::new();
        let letters = [letter("one"), letter("two\n"), letter("three")];
        let (mut journal, empty) = Journal::open(&path).unwrap();
        assert!(empty.letters.is_empty());
        journal.set_owner(owner).unwrap();
        journal.add((1..).zip(&letters)).unwrap();
        journal.done(2).unwrap();
        drop(journal);
        let (_journal, found) = Journal::open(&path).unwrap();
        assert_eq!((found.owner, found.damaged), (Some(owner), 0));
        assert_eq!(found.letters, BTreeMap::from([(1, letters[0].clone()), (3, letters[2].clone())]));
    }

    #[test]
    fn a_torn_tail_costs_only_itself_wherever_it_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("outbox");
        let (mut journal, _) = Journal::open(&path).unwrap();
        journal.add([(1, &letter("one"))]).unwrap();
        let whole = std::fs::read(&path).unwrap().len();
        journal.add([(2, &letter("two"))]).unwrap();
        drop(journal);
        let bytes = std::fs::read(&path).unwrap();
        for cut in (whole..bytes.len() - 1).step_by(7) {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            let (mut journal, found) = Journal::open(&path).unwrap();
            assert_eq!(found.letters.keys().copied().collect::<Vec<_>>(), [1], "cut at {cut}");
            journal.add([(3, &letter("three"))]).unwrap();
            drop(journal);
            let (_journal, found) = Journal::open(&path).unwrap();
            assert_eq!(found.letters.keys().copied().collect::<Vec<_>>(), [1, 3], "cut at {cut}");
        }
    }

    #[test]
    fn a_damaged_line_is_left_out_and_the_rest_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("outbox");
        let (mut journal, _) = Journal::open(&path).unwrap();
        journal.add([(1, &letter("one")), (2, &letter("two")), (3, &letter("three"))]).unwrap();
        drop(journal);
        let mut bytes = std::fs::read(&path).unwrap();
        let place = bytes.windows(3).position(|window| window == b"two").unwrap();
        bytes[place] = 0xff;
        std::fs::write(&path, bytes).unwrap();
        let (_journal, found) = Journal::open(&path).unwrap();
        assert_eq!((found.letters.keys().copied().collect::<Vec<_>>(), found.damaged), (vec![1, 3], 1));
    }

    #[test]
    fn a_file_in_use_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("outbox");
        let _journal = Journal::open(&path).unwrap();
        assert_eq!(Journal::open(&path).unwrap_err().kind(), io::ErrorKind::ResourceBusy);
    }

    #[test]
    fn a_file_that_is_mostly_done_becomes_small_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("outbox");
        let (mut journal, _) = Journal::open(&path).unwrap();
        let kept = letter("kept");
        journal.add([(1, &kept)]).unwrap();
        for id in 2..600 {
            journal.append(&[Line::Add { id, letter: letter("done") }, Line::Done(id)]).unwrap();
        }
        assert!(journal.wants_rewrite(1));
        journal.rewrite(&BTreeMap::from([(1, kept.clone())])).unwrap();
        assert!(!journal.wants_rewrite(1));
        drop(journal);
        assert!(std::fs::metadata(&path).unwrap().len() < 1000);
        assert_eq!(Journal::open(&path).unwrap().1.letters, BTreeMap::from([(1, kept)]));
    }
}
