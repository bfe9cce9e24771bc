//! The files beside a database. Bytes under a name are only ever replaced whole, so that each can be taken by itself.

use std::{
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use super::BackupError;

/// Where the files of a copy lie: in a folder beside it.
pub(super) fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".files");
    name.into()
}

/// Takes along what is not there yet.
pub(super) async fn copy(from: PathBuf, to: PathBuf) -> Result<(), BackupError> {
    let place = to.clone();
    let copied = tokio::task::spawn_blocking(move || copy_all(&from, &to)).await;
    copied.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(|error| BackupError::File(place, error))
}

fn copy_all(from: &Path, to: &Path) -> io::Result<()> {
    let folders = match fs::read_dir(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        folders => folders?,
    };
    for folder in folders {
        let folder = folder?;
        // Two digits: what is still coming lies elsewhere.
        if folder.file_name().len() == 2 && folder.file_type()?.is_dir() {
            copy_folder(&folder.path(), &to.join(folder.file_name()))?;
        }
    }
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(to)?;
    for file in fs::read_dir(from)? {
        let file = file?;
        let target = to.join(file.file_name());
        if target.exists() {
            continue;
        }
        match copy_file(&file.path(), &target) {
            // Deleted meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            outcome => outcome?,
        }
    }
    File::open(to)?.sync_all()
}

fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    if fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    let draft = to.with_extension("partial");
    fs::copy(from, &draft)?;
    File::open(&draft)?.sync_all()?;
    fs::rename(draft, to)
}
