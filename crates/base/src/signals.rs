//! Signals that end the process, and a limit of file size that must not kill it.
//!
//! A signal is taken up by a thread of its own, which never writes anything: a full pipe on stderr must not keep the next signal
//! from being heard.

use anyhow::{Context, Result};

use crate::language::Word;

/// A signal to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending(i32);

impl Ending {
    /// Exit code of a program that a signal ended: 128 and the number of the signal.
    pub fn code(self) -> u8 {
        u8::try_from(128 + self.0).unwrap_or(130)
    }

    pub fn name(self) -> &'static str {
        imp::name(self.0).unwrap_or("a signal")
    }

    /// The ending of that exit code.
    pub fn of_code(code: u8) -> Option<Ending> {
        code.checked_sub(128).map(|number| Ending(i32::from(number)))
    }
}

/// Listens to signals until it is dropped. After that signals have no effect, since the process is about to end.
pub struct Hearing {
    _imp: imp::Hearing,
}

/// Calls `on_signal` at each signal to end: Ctrl-C, Ctrl-\, SIGTERM, and SIGHUP unless the program was started with it ignored (`nohup`).
pub fn on_end(mut on_signal: impl FnMut(Ending) + Send + 'static) -> Result<Hearing> {
    let imp =
        imp::hear(move |number| on_signal(Ending(number))).context(Word("无法监听信号", "cannot listen to signals"))?;
    Ok(Hearing { _imp: imp })
}

/// Ends the process at once, as if it were killed, but with an exit code.
pub fn exit_at_once(code: u8) -> ! {
    imp::exit(i32::from(code))
}

/// Makes a write beyond the limit of file size (`ulimit -f`) an error; without this the system kills the process.
pub fn survive_limits() {
    imp::survive_limits();
}

#[cfg(unix)]
mod imp {
    use std::io;
    use std::sync::Arc;
    use std::thread;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
    use signal_hook::iterator::{Handle, Signals};
    use signal_hook::low_level;

    pub(super) struct Hearing(Handle);

    impl Drop for Hearing {
        fn drop(&mut self) {
            self.0.close();
        }
    }

    pub(super) fn hear(mut on_signal: impl FnMut(i32) + Send + 'static) -> io::Result<Hearing> {
        let all = [SIGINT, SIGQUIT, SIGTERM, SIGHUP];
        let heard = all.into_iter().filter(|&signal| signal != SIGHUP || !is_ignored(SIGHUP));
        let mut signals = Signals::new(heard)?;
        let handle = signals.handle();
        thread::Builder::new().name("signals".to_owned()).spawn(move || signals.forever().for_each(&mut on_signal))?;
        Ok(Hearing(handle))
    }

    /// True if the system ignores this signal for this process. Known on Linux alone.
    fn is_ignored(signal: i32) -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
    }

    pub(super) fn name(signal: i32) -> Option<&'static str> {
        low_level::signal_name(signal)
    }

    pub(super) fn exit(code: i32) -> ! {
        low_level::exit(code)
    }

    pub(super) fn survive_limits() {
        // Where it cannot be set, a limit kills as it does other programs.
        let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    }
}

#[cfg(not(unix))]
mod imp {
    use std::io;

    pub(super) struct Hearing;

    pub(super) fn hear(mut on_signal: impl FnMut(i32) + Send + 'static) -> io::Result<Hearing> {
        const CTRL_C: i32 = 2;
        ctrlc::set_handler(move || on_signal(CTRL_C)).map_err(io::Error::other)?;
        Ok(Hearing)
    }

    pub(super) fn name(_: i32) -> Option<&'static str> {
        None
    }

    pub(super) fn exit(code: i32) -> ! {
        std::process::exit(code)
    }

    pub(super) fn survive_limits() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_code_tells_which_signal_it_was() {
        for (code, name) in [(130, "SIGINT"), (143, "SIGTERM"), (129, "SIGHUP")] {
            let ending = Ending::of_code(code).unwrap();
            assert_eq!((ending.code(), ending.name()), (code, name));
        }
        assert_eq!(Ending::of_code(0), None);
    }
}
