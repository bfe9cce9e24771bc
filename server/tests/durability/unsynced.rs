//! A disk that loses power: what a killed process had written but not synced is taken back.
//! `unsynced.c` notes the changes inside the process; this half compiles it and undoes what it noted.

use std::{
    collections::HashMap,
    fs::{self, File},
    io,
    os::unix::fs::{FileExt, MetadataExt},
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

/// Which of the unsynced writes reached the disk all the same.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Survivors {
    None,
    /// About half of them, in no order: a disk that wrote as it pleased until the power went.
    Half {
        seed: u64,
    },
}

/// How the disk treats the process that uses it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Behaviour {
    Honest,
    /// Answers every sync and does nothing.
    Lying,
    /// Power goes when the process is about to make this change, counted from 1.
    PowerLossAt(u64),
}

/// A folder whose unsynced changes can be dropped.
#[derive(Debug)]
pub(crate) struct Disk {
    folder: TempDir,
    shim: PathBuf,
}

impl Disk {
    pub(crate) fn new() -> Disk {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("temporary folder");
        let disk = Disk { shim: folder.path().join("unsynced.so"), folder };
        fs::create_dir(disk.root()).expect("root");
        fs::create_dir(disk.journal()).expect("journal");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/durability/unsynced.c");
        let status = Command::new("cc")
            .args(["-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", "-pthread", "-o"])
            .arg(&disk.shim)
            .arg(source)
            .args(["-ldl"])
            .status()
            .expect("a C compiler");
        assert!(status.success(), "unsynced.c compiles");
        disk
    }

    /// The folder whose changes are noted.
    pub(crate) fn root(&self) -> PathBuf {
        self.beside("disk")
    }

    /// A file that is not on the disk, and goes away with it.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn journal(&self) -> PathBuf {
        self.beside("journal")
    }

    /// Lets the command's changes below the root be noted.
    pub(crate) fn watch(&self, command: &mut Command, behaviour: Behaviour) {
        command.env("LD_PRELOAD", &self.shim).env("UNSYNCED_ROOT", self.root()).env("UNSYNCED_JOURNAL", self.journal());
        match behaviour {
            Behaviour::Honest => {}
            Behaviour::Lying => _ = command.env("UNSYNCED_LIE", "1"),
            Behaviour::PowerLossAt(change) => _ = command.env("UNSYNCED_KILL_AT", change.to_string()),
        }
    }

    /// Brings the folder to what a machine would find after losing power now; no process may be using it.
    /// Answers how many changes were taken back.
    pub(crate) fn lose_power(&self, survivors: Survivors) -> usize {
        let files = files_by_inode(&[self.root(), self.journal()]);
        let records = read_journal(&self.journal());
        for record in records.iter().rev() {
            record.undo(&files).unwrap_or_else(|error| panic!("undo {record:?}: {error}"));
        }
        let mut lost = records.len();
        if let Survivors::Half { seed } = survivors {
            let mut state = seed;
            for record in &records {
                if next_random(&mut state).is_multiple_of(2) && record.redo(&files).expect("redo") {
                    lost -= 1;
                }
            }
        }
        for path in walk(&self.root()) {
            if path.to_string_lossy().ends_with("-shm") {
                fs::remove_file(path).expect("remove shared memory");
            }
        }
        fs::remove_dir_all(self.journal()).expect("remove the journal");
        fs::create_dir(self.journal()).expect("a fresh journal");
        lost
    }
}

/// splitmix64: the same survivors for the same seed.
pub(crate) fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[derive(Debug)]
enum Change {
    Write { offset: u64, old: Vec<u8>, new: Vec<u8> },
    Length { new_size: u64, cut: Vec<u8> },
    Created { path: PathBuf },
    Unlinked { path: PathBuf, kept: PathBuf },
    Renamed { from: PathBuf, to: PathBuf, kept: PathBuf },
}

#[derive(Debug)]
struct Record {
    sequence: u64,
    inode: u64,
    old_size: u64,
    change: Change,
}

impl Record {
    /// `None` for a record that was cut off, whose change therefore never happened.
    fn read(file: &Path) -> Option<Record> {
        let bytes = fs::read(file).expect("read a record");
        let (header, body) = bytes.split_at_checked(48)?;
        let field = |index: usize| u64::from_ne_bytes(header[index * 8..index * 8 + 8].try_into().expect("8 bytes"));
        let kind = u8::try_from(field(0)).expect("a kind");
        let (inode, offset, old_size, old_length, new_length) =
            (field(1), field(2), field(3), field(4) as usize, field(5));
        let (first, second) = body.split_at_checked(old_length)?;
        if kind != b'T' && second.len() as u64 != new_length {
            return None;
        }
        let path = |bytes: &[u8]| PathBuf::from(str::from_utf8(bytes).expect("UTF-8 path"));
        let kept = file.with_extension("kept");
        let change = match kind {
            b'W' => Change::Write { offset, old: first.to_vec(), new: second.to_vec() },
            b'T' => Change::Length { new_size: new_length, cut: first.to_vec() },
            b'C' => Change::Created { path: path(first) },
            b'U' => Change::Unlinked { path: path(first), kept },
            b'R' => Change::Renamed { from: path(first), to: path(second), kept },
            other => panic!("unknown record kind {other}"),
        };
        let sequence = file.file_name()?.to_str()?.parse().ok()?;
        Some(Record { sequence, inode, old_size, change })
    }

    fn undo(&self, files: &HashMap<u64, File>) -> io::Result<()> {
        match &self.change {
            // A file that is gone for good has no content to restore.
            Change::Write { offset, old, .. } => files.get(&self.inode).map_or(Ok(()), |file| {
                file.set_len(self.old_size)?;
                file.write_all_at(old, *offset)
            }),
            Change::Length { new_size, cut } => files.get(&self.inode).map_or(Ok(()), |file| {
                file.set_len(self.old_size)?;
                file.write_all_at(cut, *new_size)
            }),
            Change::Created { path } => match fs::metadata(path) {
                Ok(found) if found.ino() == self.inode => fs::remove_file(path),
                _ => Ok(()),
            },
            Change::Unlinked { path, kept } => {
                if path.exists() {
                    return Ok(());
                }
                fs::hard_link(kept, path)
            }
            Change::Renamed { from, to, kept } => {
                // Killed between the note and the rename: nothing moved.
                if fs::metadata(to).is_ok_and(|found| found.ino() == self.inode) {
                    fs::rename(to, from)?;
                    if kept.exists() {
                        fs::hard_link(kept, to)?;
                    }
                }
                Ok(())
            }
        }
    }

    /// Makes a change of content again; answers whether it was one.
    fn redo(&self, files: &HashMap<u64, File>) -> io::Result<bool> {
        let Some(file) = files.get(&self.inode) else {
            return Ok(false);
        };
        match &self.change {
            Change::Write { offset, new, .. } => file.write_all_at(new, *offset)?,
            Change::Length { new_size, .. } => file.set_len(*new_size)?,
            Change::Created { .. } | Change::Unlinked { .. } | Change::Renamed { .. } => {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn read_journal(journal: &Path) -> Vec<Record> {
    let mut records: Vec<Record> =
        walk(journal).iter().filter(|file| file.extension().is_none()).filter_map(|file| Record::read(file)).collect();
    records.sort_by_key(|record| record.sequence);
    records
}

fn files_by_inode(folders: &[PathBuf]) -> HashMap<u64, File> {
    let open = |path: PathBuf| {
        let file = File::options().read(true).write(true).open(&path).expect("open for undoing");
        (file.metadata().expect("metadata").ino(), file)
    };
    folders.iter().flat_map(|folder| walk(folder)).map(open).collect()
}

/// Every regular file below a folder.
fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("read folder") {
        let entry = entry.expect("folder entry");
        let kind = entry.file_type().expect("file type");
        if kind.is_dir() {
            found.extend(walk(&entry.path()));
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::process::Output;

    use super::*;

    /// Runs shell commands in the root as if on a disk, then loses power.
    fn after_power_loss(script: &str) -> Disk {
        let disk = Disk::new();
        run(&disk, script);
        disk.lose_power(Survivors::None);
        disk
    }

    fn run(disk: &Disk, script: &str) {
        let output = shell(disk, script, Behaviour::Honest);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn shell(disk: &Disk, script: &str, behaviour: Behaviour) -> Output {
        let mut command = Command::new("sh");
        command.args(["-euc", script]).current_dir(disk.root());
        disk.watch(&mut command, behaviour);
        command.output().expect("sh")
    }

    fn content(disk: &Disk, name: &str) -> Option<String> {
        fs::read_to_string(disk.root().join(name)).ok()
    }

    #[test]
    fn a_write_without_sync_is_dropped() {
        let disk = after_power_loss("printf first | dd of=a conv=fsync; sync .; printf second | dd of=a conv=notrunc");
        assert_eq!(content(&disk, "a").as_deref(), Some("first"));
    }

    #[test]
    fn a_synced_write_survives() {
        let disk = after_power_loss("printf first | dd of=a conv=fdatasync; sync .");
        assert_eq!(content(&disk, "a").as_deref(), Some("first"));
    }

    #[test]
    fn only_what_came_after_the_last_sync_is_dropped() {
        let disk = after_power_loss(
            "printf 'one ' | dd of=a conv=fsync; sync .; printf 'two ' | dd of=a oflag=append conv=notrunc,fdatasync
             printf three | dd of=a oflag=append conv=notrunc",
        );
        assert_eq!(content(&disk, "a").as_deref(), Some("one two "));
    }

    #[test]
    fn a_truncation_without_sync_gives_its_bytes_back() {
        let disk = after_power_loss(
            "printf 'one two' | dd of=a conv=fsync; sync .; truncate -s 3 a; printf X | dd of=a conv=notrunc",
        );
        assert_eq!(content(&disk, "a").as_deref(), Some("one two"));
    }

    #[test]
    fn a_truncation_at_open_gives_its_bytes_back() {
        let disk = after_power_loss("printf 'one two' | dd of=a conv=fsync; sync .; printf X | dd of=a");
        assert_eq!(content(&disk, "a").as_deref(), Some("one two"));
    }

    #[test]
    fn a_new_name_is_lost_unless_its_folder_is_synced() {
        let disk = after_power_loss(
            "printf one | dd of=a conv=fsync; printf two | dd of=b conv=fsync; sync .; printf three | dd of=c conv=fsync",
        );
        assert_eq!(content(&disk, "a").as_deref(), Some("one"));
        assert_eq!(content(&disk, "b").as_deref(), Some("two"));
        assert_eq!(content(&disk, "c"), None);
    }

    #[test]
    fn a_removed_file_comes_back_with_its_synced_content() {
        let disk = after_power_loss("printf one | dd of=a conv=fsync; sync .; printf two | dd of=a conv=notrunc; rm a");
        assert_eq!(content(&disk, "a").as_deref(), Some("one"));
        let disk = after_power_loss("printf one | dd of=a conv=fsync; sync .; rm a; sync .");
        assert_eq!(content(&disk, "a"), None);
    }

    #[test]
    fn a_rename_without_sync_gives_both_files_back() {
        let written = "printf old | dd of=a conv=fsync; printf new | dd of=b conv=fsync; sync .; mv -f b a";
        let disk = after_power_loss(written);
        assert_eq!(content(&disk, "a").as_deref(), Some("old"));
        assert_eq!(content(&disk, "b").as_deref(), Some("new"));
        let disk = after_power_loss(&format!("{written}; sync ."));
        assert_eq!(content(&disk, "a").as_deref(), Some("new"));
        assert_eq!(content(&disk, "b"), None);
    }

    #[test]
    fn half_of_the_unsynced_writes_can_survive() {
        let disk = Disk::new();
        run(
            &disk,
            "printf '................' | dd of=a conv=fsync; sync .
             for at in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do printf x | dd of=a bs=1 seek=$at conv=notrunc; done",
        );
        let lost = disk.lose_power(Survivors::Half { seed: 7 });
        let kept = content(&disk, "a").expect("a").matches('x').count();
        assert_eq!(kept + lost, 16);
        assert!((1..16).contains(&lost), "{lost} of 16 lost");
    }

    #[test]
    fn a_disk_that_lies_loses_what_was_synced() {
        let disk = Disk::new();
        shell(&disk, "printf first | dd of=a conv=fsync; sync a; sync .", Behaviour::Lying);
        assert_eq!(content(&disk, "a").as_deref(), Some("first"));
        disk.lose_power(Survivors::None);
        assert_eq!(content(&disk, "a"), None);
    }

    #[test]
    fn power_goes_before_the_change_that_was_named() {
        let disk = Disk::new();
        let script = "for byte in a b c d; do echo $byte; done | dd of=a bs=2 oflag=sync 2>&1; echo still here";
        // The first change is the new name.
        shell(&disk, script, Behaviour::PowerLossAt(4));
        assert_eq!(content(&disk, "a").as_deref(), Some("a\nb\n"));
    }
}
