//! The record of what a program does to the files below a folder: every change, every call that brings one to the disk, in order.

use std::collections::HashMap;
use std::fmt;
use std::fs::{self, File, Metadata};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use libc::c_long;

use crate::linux::tracer::{Call, Verdict, Watcher};
use crate::linux::tree::{Change, NodeId, Place, ROOT, Tree};

/// Flags of `open` that make a file without a name.
const NAMELESS: i32 = libc::O_TMPFILE;

/// A step of the record.
#[derive(Debug)]
pub(crate) struct Step {
    /// The file or folder that was changed, or the new name, from the root.
    pub(crate) path: String,
    pub(crate) what: What,
}

/// The work of a step.
#[derive(Debug)]
pub(crate) enum What {
    Change(Change),
    /// The content of a file, or the names in a folder, are brought to the disk.
    Sync(NodeId),
    /// Everything is brought to the disk.
    SyncAll,
    /// The user changed a file between two commands; it is on the disk.
    Outside(Place, NodeId, PathBuf),
    /// A command of this number ended.
    End(usize),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match &self.what {
            What::Change(Change::Make { .. }) => "make",
            What::Change(Change::Write { offset, bytes, .. }) => {
                return write!(f, "write {} bytes at {offset} of {}", bytes.len(), self.path);
            }
            What::Change(Change::Resize { length, .. }) => {
                return write!(f, "set the length {length} of {}", self.path);
            }
            What::Change(Change::Rename { from, .. }) => return write!(f, "rename {} to {}", from.name, self.path),
            What::Change(Change::Exchange { .. }) => "exchange",
            What::Change(Change::Link { .. }) => "link",
            What::Change(Change::Remove { .. }) => "remove",
            What::Sync(_) => "sync",
            What::SyncAll => "sync everything",
            What::Outside(..) => "the user changes",
            What::End(number) => return write!(f, "command {number} ends"),
        };
        write!(f, "{what} {}", self.path)
    }
}

/// Everything that was done, and the files before it.
pub(crate) struct Record {
    /// Canonical.
    root: PathBuf,
    pub(crate) before: Tree,
    pub(crate) steps: Vec<Step>,
    /// The files as they are now.
    pub(crate) now: Tree,
    nodes: HashMap<(u64, u64), NodeId>,
    paths: HashMap<NodeId, PathBuf>,
    /// The work of a call that has not ended yet.
    pending: Option<Pending>,
}

enum Pending {
    Open { path: PathBuf, was_there: bool, truncates: bool },
    MakeFolder { path: PathBuf },
    Write { descriptor: PathBuf, at: Option<u64> },
    Resize { node: NodeId, path: PathBuf },
    Sync { node: NodeId },
    SyncAll,
    Rename { from: (Place, NodeId), to: Place, other: Option<NodeId>, exchanges: bool },
    Remove { at: Place, node: NodeId },
    Link { node: NodeId, to: Place },
}

impl Record {
    /// Starts the record of a folder as it is.
    pub(crate) fn new(root: &Path) -> Record {
        let root = root.canonicalize().expect("the folder is there");
        let (tree, nodes) = (Tree::new(), HashMap::from([(id(&root.metadata().expect("it is there")), ROOT)]));
        let paths = HashMap::from([(ROOT, PathBuf::new())]);
        let mut record =
            Record { before: tree.clone(), now: tree, root, steps: Vec::new(), nodes, paths, pending: None };
        for entry in walkdir::WalkDir::new(&record.root).min_depth(1).sort_by_file_name() {
            let path = entry.expect("the folder can be listed").into_path();
            let (at, node) = (record.place(&path).expect("it is below the root"), record.new_node(&path));
            record.now.put(at, node, &path);
        }
        record.before = record.now.clone();
        record
    }

    /// Notes that a command has ended.
    pub(crate) fn end(&mut self, command: usize) {
        self.steps.push(Step { path: String::new(), what: What::End(command) });
    }

    /// Notes that somebody else wrote a file.
    pub(crate) fn changed(&mut self, name: &str, kept: &Path) {
        let path = self.root.join(name);
        fs::copy(&path, kept).expect("the file can be copied");
        let modified = path.metadata().and_then(|meta| meta.modified()).expect("a file has an age");
        File::options()
            .write(true)
            .open(kept)
            .and_then(|file| file.set_modified(modified))
            .expect("a file can have an age");
        let at = self.place(&path).expect("it is below the root");
        let node = self.new_node(&path);
        self.now.put(at.clone(), node, kept);
        self.steps.push(Step { path: name.to_owned(), what: What::Outside(at, node, kept.to_owned()) });
    }

    /// The kind of a file or folder: its last path, without the digits that tell it from others of its kind.
    pub(crate) fn kind_of(&self, node: NodeId) -> String {
        let path = self.paths[&node].display().to_string();
        let mut kind = String::new();
        for part in path.split_inclusive(['/', '.', '-', '_']) {
            let (word, end) = part.split_at(part.trim_end_matches(['/', '.', '-', '_']).len());
            let is_number = !word.is_empty()
                && word.chars().all(|c| c.is_ascii_hexdigit())
                && word.contains(|c: char| c.is_ascii_digit());
            kind.push_str(if is_number { "#" } else { word });
            kind.push_str(end);
        }
        match self.now.is_folder(node) {
            true => format!("folder {}", if kind.is_empty() { "." } else { &kind }),
            false => format!("file {kind}"),
        }
    }

    /// Fails unless the record tells how the folder came to be as it is.
    pub(crate) fn check_complete(&self) {
        let (recorded, there) = (self.now.files(), crate::linux::files_below(&self.root));
        let names = |files: &std::collections::BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&recorded), names(&there), "the record tells of other files than there are");
        for (path, bytes) in there {
            assert!(recorded[&path] == bytes, "the record tells of other bytes of {path} than there are");
        }
    }

    /// The number of a file that is new to the record.
    fn new_node(&mut self, path: &Path) -> NodeId {
        let meta = path.symlink_metadata().expect("a file that was made is there");
        self.new_node_of(&meta, path)
    }

    fn new_node_of(&mut self, meta: &Metadata, path: &Path) -> NodeId {
        let node = self.paths.len() as NodeId;
        self.nodes.insert(id(meta), node);
        self.paths.insert(node, path.strip_prefix(&self.root).unwrap_or(path).to_owned());
        node
    }

    /// The number of what a path leads to, if it was made or found below the root.
    fn node(&self, path: &Path) -> Option<NodeId> {
        self.nodes.get(&id(&path.metadata().ok()?)).copied()
    }

    /// The folder and the name of a path below the root.
    fn place(&self, path: &Path) -> Option<Place> {
        let folder = self.node(path.parent()?)?;
        Some(Place { folder, name: path.file_name()?.to_str()?.to_owned() })
    }

    /// The same with the file that has the name now.
    fn placed(&self, path: &Path) -> Option<(Place, NodeId)> {
        let place = self.place(path)?;
        let node = self.now.at(&place)?;
        Some((place, node))
    }

    fn change(&mut self, node: NodeId, change: Change) {
        self.now.change(&change);
        if let Change::Rename { to, .. } | Change::Link { at: to, .. } = &change {
            let path = self.paths[&to.folder].join(&to.name);
            self.paths.insert(node, path);
        }
        let path = self.paths[&node].display().to_string();
        self.steps.push(Step { path, what: What::Change(change) });
    }

    /// The work that a call is about to do; none where it does not concern the files below the root.
    fn meant(&self, call: &Call) -> Option<Pending> {
        let [a, b, c, d, e, _] = call.args;
        let here = libc::AT_FDCWD as u64;
        let by_descriptor = |number: u64| self.node(&call.descriptor(number));
        match call.number {
            libc::SYS_openat => self.opening(call.path(a, b), c as i32),
            libc::SYS_open => self.opening(call.path(here, a), b as i32),
            libc::SYS_creat => self.opening(call.path(here, a), libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC),
            libc::SYS_mkdirat => {
                Some(call.path(a, b)).filter(|path| self.place(path).is_some()).map(|path| Pending::MakeFolder { path })
            }
            libc::SYS_mkdir => Some(call.path(here, a))
                .filter(|path| self.place(path).is_some())
                .map(|path| Pending::MakeFolder { path }),
            libc::SYS_write | libc::SYS_writev => self.writing(call, a, None),
            libc::SYS_pwrite64 | libc::SYS_pwritev | libc::SYS_pwritev2 => self.writing(call, a, Some(d)),
            libc::SYS_sendfile => self.writing(call, a, None),
            libc::SYS_copy_file_range => {
                assert!(d == 0 || by_descriptor(c).is_none(), "copy_file_range to an offset is not understood");
                self.writing(call, c, None)
            }
            libc::SYS_ftruncate => by_descriptor(a).map(|node| Pending::Resize { node, path: call.descriptor(a) }),
            libc::SYS_fallocate => {
                let node = by_descriptor(a)?;
                assert_eq!(b & !(libc::FALLOC_FL_KEEP_SIZE as u64), 0, "holes are not understood");
                Some(Pending::Resize { node, path: call.descriptor(a) })
            }
            libc::SYS_truncate => {
                let path = call.path(here, a);
                self.node(&path).map(|node| Pending::Resize { node, path })
            }
            libc::SYS_fsync | libc::SYS_fdatasync => by_descriptor(a).map(|node| Pending::Sync { node }),
            libc::SYS_renameat2 => self.renaming(&call.path(a, b), &call.path(c, d), e),
            libc::SYS_renameat => self.renaming(&call.path(a, b), &call.path(c, d), 0),
            libc::SYS_rename => self.renaming(&call.path(here, a), &call.path(here, b), 0),
            libc::SYS_unlinkat => self.placed(&call.path(a, b)).map(|(at, node)| Pending::Remove { at, node }),
            libc::SYS_unlink | libc::SYS_rmdir => {
                self.placed(&call.path(here, a)).map(|(at, node)| Pending::Remove { at, node })
            }
            libc::SYS_linkat => self.linking(&call.path(a, b), &call.path(c, d)),
            libc::SYS_link => self.linking(&call.path(here, a), &call.path(here, b)),
            libc::SYS_symlinkat => self.refuse(self.place(&call.path(b, c)).is_some(), "a symbolic link"),
            libc::SYS_symlink => self.refuse(self.place(&call.path(here, b)).is_some(), "a symbolic link"),
            libc::SYS_mmap => {
                let is_shared = d as i32 & libc::MAP_TYPE != libc::MAP_PRIVATE && c as i32 & libc::PROT_WRITE != 0;
                self.refuse(is_shared && by_descriptor(e).is_some(), "a file that is written through a map")
            }
            libc::SYS_splice => self.refuse(by_descriptor(c).is_some(), "splice"),
            libc::SYS_syncfs => by_descriptor(a).map(|_| Pending::SyncAll),
            libc::SYS_sync => Some(Pending::SyncAll),
            libc::SYS_io_uring_setup => self.refuse(true, "a queue of calls"),
            // Bytes on their way to the disk are not on the disk.
            _ => None,
        }
    }

    fn refuse(&self, meets: bool, what: &str) -> Option<Pending> {
        assert!(!meets, "the program makes a call that this record does not understand: {what}");
        None
    }

    fn opening(&self, path: PathBuf, flags: i32) -> Option<Pending> {
        if flags & NAMELESS == NAMELESS || flags & (libc::O_CREAT | libc::O_TRUNC) == 0 {
            return None;
        }
        self.place(&path)?;
        let was_there = path.exists();
        Some(Pending::Open { path, was_there, truncates: flags & libc::O_TRUNC != 0 })
    }

    fn writing(&self, call: &Call, descriptor: u64, at: Option<u64>) -> Option<Pending> {
        let descriptor = call.descriptor(descriptor);
        self.node(&descriptor).map(|_| Pending::Write { descriptor, at })
    }

    fn renaming(&self, from: &Path, to: &Path, flags: u64) -> Option<Pending> {
        let (Some(from), Some(to)) = (self.placed(from), self.place(to)) else {
            let crosses = self.placed(from).is_some() != self.place(to).is_some();
            return self.refuse(crosses && from.exists(), "a file that is moved over the border of the folder");
        };
        let exchanges = flags & u64::from(libc::RENAME_EXCHANGE) != 0;
        Some(Pending::Rename { from, other: self.now.at(&to), to, exchanges })
    }

    fn linking(&self, from: &Path, to: &Path) -> Option<Pending> {
        let to = self.place(to)?;
        Some(Pending::Link { node: self.node(from).expect("a link is to a file of the record"), to })
    }

    /// Notes what a call has done that succeeded.
    fn done(&mut self, call: &Call, pending: Pending, result: u64) {
        match pending {
            Pending::Open { path, was_there: false, .. } => {
                let at = self.place(&path).expect("its folder is there");
                let node = self.new_node(&path);
                self.change(node, Change::Make { at, node, is_folder: false });
            }
            Pending::Open { path, truncates, .. } => {
                if let Some(node) = self.node(&path).filter(|_| truncates) {
                    self.change(node, Change::Resize { node, length: 0 });
                }
            }
            Pending::MakeFolder { path } => {
                let at = self.place(&path).expect("its folder is there");
                let node = self.new_node(&path);
                self.change(node, Change::Make { at, node, is_folder: true });
            }
            Pending::Write { descriptor, at } => {
                let node = self.node(&descriptor).expect("an open file has a number");
                let offset = at.unwrap_or_else(|| position(call, &descriptor) - result);
                let mut bytes = vec![0; result as usize];
                let file = File::open(&descriptor).expect("an open file can be opened again");
                file.read_exact_at(&mut bytes, offset).expect("what was written is there");
                self.change(node, Change::Write { node, offset, bytes: bytes.into() });
            }
            Pending::Resize { node, path } => {
                let length = path.metadata().expect("an open file is there").len();
                if length != self.now.length(node) {
                    self.change(node, Change::Resize { node, length });
                }
            }
            Pending::Sync { node } => {
                let path = self.paths[&node].display().to_string();
                self.steps.push(Step { path, what: What::Sync(node) });
            }
            Pending::SyncAll => self.steps.push(Step { path: String::new(), what: What::SyncAll }),
            Pending::Rename { from, to, other: Some(other), exchanges: true } => {
                self.change(from.1, Change::Exchange { a: from, b: (to, other) });
            }
            Pending::Rename { from: (from, node), to, .. } => self.change(node, Change::Rename { from, to, node }),
            Pending::Remove { at, node } => self.change(node, Change::Remove { at, node }),
            Pending::Link { node, to } => self.change(node, Change::Link { at: to, node }),
        }
    }
}

/// The offset at which an open file is written or read next.
fn position(call: &Call, descriptor: &Path) -> u64 {
    let number = descriptor.file_name().expect("a descriptor has a number").to_str().expect("in digits");
    let info = fs::read_to_string(format!("/proc/{}/fdinfo/{number}", call.thread)).expect("an open file is known");
    let line = info.lines().find_map(|line| line.strip_prefix("pos:"));
    line.and_then(|position| position.trim().parse().ok()).expect("an open file has a position")
}

fn id(meta: &Metadata) -> (u64, u64) {
    (meta.dev(), meta.ino())
}

impl Watcher for Record {
    fn calls(&self) -> Vec<c_long> {
        vec![
            libc::SYS_openat,
            libc::SYS_open,
            libc::SYS_creat,
            libc::SYS_mkdirat,
            libc::SYS_mkdir,
            libc::SYS_write,
            libc::SYS_writev,
            libc::SYS_pwrite64,
            libc::SYS_pwritev,
            libc::SYS_pwritev2,
            libc::SYS_sendfile,
            libc::SYS_splice,
            libc::SYS_copy_file_range,
            libc::SYS_ftruncate,
            libc::SYS_truncate,
            libc::SYS_fallocate,
            libc::SYS_fsync,
            libc::SYS_fdatasync,
            libc::SYS_sync,
            libc::SYS_syncfs,
            libc::SYS_rename,
            libc::SYS_renameat,
            libc::SYS_renameat2,
            libc::SYS_unlink,
            libc::SYS_unlinkat,
            libc::SYS_rmdir,
            libc::SYS_link,
            libc::SYS_linkat,
            libc::SYS_symlink,
            libc::SYS_symlinkat,
            libc::SYS_mmap,
            libc::SYS_io_uring_setup,
        ]
    }

    fn entered(&mut self, call: &Call) -> Verdict {
        self.pending = self.meant(call);
        if self.pending.is_some() { Verdict::Watch } else { Verdict::Let }
    }

    fn ended(&mut self, call: &Call, result: i64) {
        if let (Some(pending), 0..) = (self.pending.take(), result) {
            self.done(call, pending, result as u64);
        }
    }
}
