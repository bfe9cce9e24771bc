//! Messages in SQLite and Postgres.
