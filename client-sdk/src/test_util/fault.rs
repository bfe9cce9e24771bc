//! How the scripted server can misbehave.

use parlour_protocol::ProtocolError;

/// What happens to one command.
#[derive(Debug, Clone)]
pub enum Fault {
    /// It is answered with an error and not carried out.
    Refuse(ProtocolError),
    /// It is answered with an ambiguous error although it was carried out.
    FailAfter(ProtocolError),
    /// It is carried out, and its reply is lost.
    LoseReply,
    /// It is lost.
    LoseCommand,
    /// It is carried out, and the socket breaks before the reply.
    CutAfter,
    /// The socket breaks before it is carried out.
    CutBefore,
}

/// What happens to one live event of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventFault {
    /// It arrives.
    Pass,
    /// It is lost.
    Drop,
    /// It arrives twice.
    Duplicate,
    /// It arrives behind the next one.
    Swap,
}
