//! A link that can be cut: it passes bytes on, or ends what it has and refuses what comes.

use std::net::SocketAddr;

use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};

pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    is_cut: watch::Sender<bool>,
    _accepting: JoinSet<()>,
}

impl Proxy {
    pub(crate) async fn to(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let is_cut = watch::Sender::new(false);
        let mut accepting = JoinSet::new();
        let cut = is_cut.subscribe();
        accepting.spawn(async move {
            let mut links = JoinSet::new();
            while let Ok((inner, _)) = listener.accept().await {
                if !*cut.borrow() {
                    links.spawn(pass(inner, target, cut.clone()));
                }
            }
        });
        Self { address, is_cut, _accepting: accepting }
    }

    pub(crate) fn cut(&self) {
        self.is_cut.send_replace(true);
    }

    pub(crate) fn mend(&self) {
        self.is_cut.send_replace(false);
    }
}

async fn pass(mut inner: TcpStream, target: SocketAddr, mut cut: watch::Receiver<bool>) {
    let Ok(mut outer) = TcpStream::connect(target).await else { return };
    tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut inner, &mut outer) => {}
        _ = cut.wait_for(|cut| *cut) => {}
    }
}
