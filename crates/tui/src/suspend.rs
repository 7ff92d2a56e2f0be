//! Stopping for a while (Ctrl-Z, SIGTSTP) and going on: the shell has its terminal meanwhile, and the picture is whole again after.

#[cfg(unix)]
pub(super) use unix::{StopRequests, has_shell, stop};

#[cfg(unix)]
mod unix {
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::termios::{tcgetpgrp, tcgetsid};
    use signal_hook::consts::{SIGCONT, SIGTSTP};
    use signal_hook::flag::register;
    use signal_hook::low_level::emulate_default_handler;

    /// Signals that came since the last look. Clones share them.
    #[derive(Clone, Default)]
    pub(crate) struct StopRequests {
        stop: Arc<AtomicBool>,
        went_on: Arc<AtomicBool>,
    }

    impl StopRequests {
        /// Hears the signals.
        pub(crate) fn listen() -> io::Result<StopRequests> {
            let asked = StopRequests::default();
            register(SIGTSTP, asked.stop.clone())?;
            register(SIGCONT, asked.went_on.clone())?;
            Ok(asked)
        }

        pub(crate) fn ask(&self) {
            self.stop.store(true, Ordering::Relaxed);
        }

        /// True, once, if the process was asked to stop.
        pub(crate) fn take_stop(&self) -> bool {
            self.stop.swap(false, Ordering::Relaxed)
        }

        /// True if the process went on after somebody had stopped it; asked once.
        pub(crate) fn take_went_on(&self) -> bool {
            self.went_on.swap(false, Ordering::Relaxed)
        }
    }

    /// Stops this process until it is told to go on.
    pub(crate) fn stop() -> io::Result<()> {
        emulate_default_handler(SIGTSTP)
    }

    /// True if there is a shell that can let a stopped program go on: without one it would stand still for ever.
    pub(crate) fn has_shell() -> bool {
        let terminal = rustix::stdio::stdin();
        matches!((tcgetsid(terminal), tcgetpgrp(terminal)), (Ok(session), Ok(group)) if session != group)
    }
}

#[cfg(not(unix))]
pub(super) use other::{StopRequests, has_shell, stop};

/// For systems on which no shell stops programs.
#[cfg(not(unix))]
mod other {
    use std::io;

    #[derive(Clone, Default)]
    pub struct StopRequests;

    impl StopRequests {
        pub fn listen() -> io::Result<StopRequests> {
            Ok(StopRequests)
        }

        pub fn ask(&self) {}

        pub(crate) fn take_stop(&self) -> bool {
            false
        }

        pub(crate) fn take_went_on(&self) -> bool {
            false
        }
    }

    pub fn stop() -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn has_shell() -> bool {
        false
    }
}
