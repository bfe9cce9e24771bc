//! What a bot has handled, room by room, kept in a file if it has one.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use parlour_protocol::{RoomId, RowKey};

type Rooms = BTreeMap<RoomId, RowKey>;

#[derive(Debug, Clone)]
pub(super) struct Progress {
    path: Option<Arc<PathBuf>>,
    state: Arc<Mutex<State>>,
    /// One writer at a time, so that an older state never replaces a newer one.
    writing: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Debug, Default)]
struct State {
    rooms: Rooms,
    is_written: bool,
}

impl Progress {
    pub(super) fn open(path: Option<PathBuf>) -> io::Result<Self> {
        let rooms = match path.as_deref().map(std::fs::read) {
            None => Rooms::new(),
            Some(Ok(bytes)) => serde_json::from_slice(&bytes)?,
            Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => Rooms::new(),
            Some(Err(error)) => return Err(error),
        };
        let state = Arc::new(Mutex::new(State { rooms, is_written: true }));
        Ok(Self { path: path.map(Arc::new), state, writing: Arc::default() })
    }

    pub(super) fn get(&self, room_id: RoomId) -> Option<RowKey> {
        self.lock().rooms.get(&room_id).copied()
    }

    pub(super) fn set(&self, room_id: RoomId, row_key: RowKey) {
        let mut state = self.lock();
        state.rooms.insert(room_id, row_key);
        state.is_written = false;
    }

    /// Writes the file if something is new.
    pub(super) async fn flush(&self) {
        let Some(path) = self.path.clone() else { return };
        let _writing = self.writing.lock().await;
        let rooms = {
            let mut state = self.lock();
            if std::mem::replace(&mut state.is_written, true) {
                return;
            }
            state.rooms.clone()
        };
        let written = tokio::task::spawn_blocking(move || write(&path, &rooms)).await;
        if let Err(error) = written.map_err(io::Error::other).flatten() {
            tracing::warn!(%error, "the bot's state file cannot be written");
            self.lock().is_written = false;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn write(path: &Path, rooms: &Rooms) -> io::Result<()> {
    let mut next = path.as_os_str().to_owned();
    next.push(".next");
    let mut file = File::create(&next)?;
    file.write_all(&serde_json::to_vec_pretty(rooms)?)?;
    file.sync_all()?;
    std::fs::rename(&next, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn progress_is_there_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bot.json");
        let progress = Progress::open(Some(path.clone())).unwrap();
        let (room_id, row_key) = (RoomId::new(), RowKey::from_tick(7));
        progress.set(room_id, row_key);
        progress.flush().await;
        assert_eq!(Progress::open(Some(path.clone())).unwrap().get(room_id), Some(row_key));
        std::fs::write(&path, "{torn").unwrap();
        assert!(Progress::open(Some(path)).is_err());
    }
}
