//! Tells a database that was copied back from one that went on: the same value lies in it and in a file beside it, and
//! changes again and again. When they differ, every room begins a new epoch.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::Path,
};

use uuid::Uuid;

use super::{Db, DbError, OpenError};

/// The file beside the database: the value, or while it changes the old and the new one.
const FILE: &str = "generation";

impl Db {
    /// Begins a new epoch in every room, so that no client goes on from a position of a log that is not this one.
    /// Returns the number of rooms. To be used after a database was restored by other means.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn new_epoch(&self) -> Result<u64, DbError> {
        self.write("update room_head set epoch = $1").bind(new_value()).execute().await
    }

    /// Compares both values. A difference begins a new epoch in every room; the number of rooms is returned then.
    pub(super) async fn check_generation(&self, folder: &Path) -> Result<Option<u64>, OpenError> {
        let stored = self.generation().await?;
        let failed = |error| OpenError::Folder(folder.to_owned(), error);
        let beside = match fs::read_to_string(folder.join(FILE)) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        let is_same = match (&stored, &beside) {
            (None, None) => true,
            (Some(stored), Some(beside)) => beside.lines().any(|value| value == stored),
            _ => false,
        };
        let rooms = if is_same { None } else { Some(self.new_epoch().await?) };
        self.advance_generation_in(folder).await?;
        Ok(rooms)
    }

    /// Changes both values. Does nothing on a server, which keeps its own history.
    pub(crate) async fn advance_generation(&self) -> Result<(), OpenError> {
        match self {
            Self::Sqlite(sqlite) => self.advance_generation_in(&sqlite.folder).await,
            Self::Postgres(_) => Ok(()),
        }
    }

    async fn advance_generation_in(&self, folder: &Path) -> Result<(), OpenError> {
        let failed = |error| OpenError::Folder(folder.to_owned(), error);
        let old = self.generation().await?.unwrap_or_default();
        let new = new_value();
        // Both are right while the database changes from one to the other.
        write_file(folder, &format!("{old}\n{new}\n")).await.map_err(failed)?;
        self.write(
            "insert into meta (name, value) values ('generation', $1) \
             on conflict (name) do update set value = excluded.value",
        )
        .bind(&new)
        .execute()
        .await?;
        write_file(folder, &format!("{new}\n")).await.map_err(failed)
    }

    async fn generation(&self) -> Result<Option<String>, DbError> {
        let row = self.write("select value from meta where name = 'generation'").optional::<(String,)>().await?;
        Ok(row.map(|(value,)| value))
    }
}

fn new_value() -> String {
    Uuid::new_v4().simple().to_string()
}

async fn write_file(folder: &Path, text: &str) -> io::Result<()> {
    let (folder, text) = (folder.to_owned(), text.to_owned());
    let write = move || {
        let path = folder.join(FILE);
        let draft = folder.join("generation.new");
        let mut file = File::create(&draft)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(draft, path)?;
        File::open(folder)?.sync_all()
    };
    tokio::task::spawn_blocking(write).await.unwrap_or_else(|error| Err(io::Error::other(error)))
}
