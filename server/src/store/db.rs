//! The two databases behind one text of SQL.
