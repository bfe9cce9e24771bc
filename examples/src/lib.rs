//! What the examples share: where the server is, and who one is.

pub mod screen;

use anyhow::{Context as _, bail};
use clap::Args;
use parlour_client::{
    AuthErrorKind, Bot, Client, ClientBuilder, auth,
    protocol::{ErrorCode, InviteId},
};

/// The account to use.
#[derive(Debug, Args)]
pub struct Account {
    /// The server's address
    #[arg(long, env = "PARLOUR_SERVER", default_value = "http://127.0.0.1:8080")]
    pub server: String,
    /// The account's name
    #[arg(long, env = "PARLOUR_NAME")]
    pub name: String,
    /// The account's password
    #[arg(long, env = "PARLOUR_PASSWORD", hide_env_values = true)]
    pub password: String,
    /// Register the account if there is none of that name; where registration needs an invite, give one too
    #[arg(long)]
    pub register: bool,
}

impl Account {
    /// A client of the account. The invite, a code or a link, opens registration where that needs one.
    ///
    /// # Errors
    /// When the account is to be registered and cannot be.
    pub async fn client(&self, program: &str, invite: Option<&str>) -> anyhow::Result<ClientBuilder> {
        if self.register {
            let invite = invite.map(invite_id).transpose()?;
            match auth::register(&self.server, &self.name, &self.password, invite).await {
                Ok(_) => {}
                Err(error) if error.kind() == AuthErrorKind::Rejected(ErrorCode::Conflict) => {}
                Err(error) => return Err(error).context("the account cannot be registered"),
            }
        }
        let builder = Client::builder(&self.server).log_in(&self.name, &self.password);
        Ok(builder.program(program, env!("CARGO_PKG_VERSION")))
    }
}

/// Joins a room by the code or the link of an invite; being in it already is as good.
///
/// # Errors
/// When it is no invite, or does not open the room.
pub async fn join(client: &Client, invite: &str) -> anyhow::Result<()> {
    match client.join(invite_id(invite)?).await {
        Ok(_) => Ok(()),
        Err(error) if error.rejection().is_some_and(|error| error.code == ErrorCode::Conflict) => Ok(()),
        Err(error) => Err(error).context("the invite does not open the room"),
    }
}

/// Runs a bot until Ctrl-C is pressed, or its client ends by itself.
///
/// # Errors
/// When it ends by itself.
pub async fn run_until_interrupted(client: &Client, bot: Bot) -> anyhow::Result<()> {
    let running = tokio::spawn(bot.run());
    println!("listening; Ctrl-C ends");
    tokio::select! {
        pressed = tokio::signal::ctrl_c() => pressed?,
        () = client.closed() => {}
    }
    // What was answered last is delivered before the connection ends.
    client.close().await;
    Ok(running.await??)
}

/// The code of an invite, which is also the end of its link.
fn invite_id(invite: &str) -> anyhow::Result<InviteId> {
    let code = invite.rsplit('/').next().unwrap_or(invite);
    let Ok(invite_id) = code.parse() else {
        bail!("{code:?} is no invite: it has 8 letters and digits, or ends a link")
    };
    Ok(invite_id)
}
