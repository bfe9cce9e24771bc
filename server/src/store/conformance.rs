//! What every message store promises, run against each.

mod faults;
mod idempotence;
mod jobs;
mod logs;
mod messages;
mod moderation;
mod nodes;
mod pages;
mod parts;
mod rooms;
mod subject;

/// Makes a test of each function for every database.
macro_rules! conformance {
    ($($name:ident),* $(,)?) => {
        mod sqlite {
            use crate::store::conformance::subject::Subject;
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    super::$name(Subject::sqlite().await).await;
                }
            )*
        }

        mod postgres {
            use crate::store::conformance::subject::Subject;
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    if let Some(subject) = Subject::postgres().await {
                        super::$name(subject).await;
                    }
                }
            )*
        }
    };
}
use conformance;
