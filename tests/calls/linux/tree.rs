//! A small file system: nodes with their content, and folders that give them names. Steps change it one by one, and any of them may be
//! left out, as a loss of power leaves them out.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// A file or a folder, whatever its name.
pub(crate) type NodeId = u64;

/// The folder that everything is in.
pub(crate) const ROOT: NodeId = 0;

/// A name in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) folder: NodeId,
    pub(crate) name: String,
}

/// A change of the file system.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// A new file or folder under a name.
    Make { at: Place, node: NodeId, is_folder: bool },
    /// Bytes in a file.
    Write { node: NodeId, offset: u64, bytes: Arc<[u8]> },
    /// Another length of a file.
    Resize { node: NodeId, length: u64 },
    /// Another name, instead of whatever had it.
    Rename { from: Place, to: Place, node: NodeId },
    /// Two names that change places: what had the name of `a` has that of `b`.
    Exchange { a: (Place, NodeId), b: (Place, NodeId) },
    /// One name more.
    Link { at: Place, node: NodeId },
    /// A name that is gone.
    Remove { at: Place, node: NodeId },
}

#[derive(Clone, Debug)]
enum Node {
    File { bytes: Vec<u8>, modified: Option<SystemTime> },
    Folder(BTreeMap<String, NodeId>),
}

/// The file system at a moment.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    nodes: HashMap<NodeId, Node>,
}

impl Tree {
    pub(crate) fn new() -> Tree {
        Tree { nodes: HashMap::from([(ROOT, Node::Folder(BTreeMap::new()))]) }
    }

    /// Puts a file or folder of the disk under a name, as something that has long been there.
    pub(crate) fn put(&mut self, at: Place, node: NodeId, path: &Path) {
        let meta = path.metadata().expect("what is put into a tree is there");
        let content = match meta.is_dir() {
            true => Node::Folder(BTreeMap::new()),
            false => Node::File { bytes: fs::read(path).expect("it can be read"), modified: meta.modified().ok() },
        };
        self.nodes.insert(node, content);
        self.name(&at, node);
    }

    /// Does a step. In a tree that lacks steps before it, it does what can be done of it.
    pub(crate) fn change(&mut self, change: &Change) {
        match change {
            Change::Make { at, node, is_folder } => {
                self.make(*node, *is_folder);
                self.name(at, *node);
            }
            Change::Write { node, offset, bytes } => {
                let own = self.bytes(*node);
                let (from, to) = (*offset as usize, *offset as usize + bytes.len());
                own.resize(own.len().max(to), 0);
                own[from..to].copy_from_slice(bytes);
            }
            Change::Resize { node, length } => self.bytes(*node).resize(*length as usize, 0),
            Change::Rename { from, to, node } => {
                self.forget(from, *node);
                self.name(to, *node);
            }
            Change::Exchange { a, b } => {
                self.name(&a.0, b.1);
                self.name(&b.0, a.1);
            }
            Change::Link { at, node } => self.name(at, *node),
            Change::Remove { at, node } => self.forget(at, *node),
        }
    }

    /// Makes an empty file or folder that has no name.
    pub(crate) fn make(&mut self, node: NodeId, is_folder: bool) {
        let empty = || match is_folder {
            true => Node::Folder(BTreeMap::new()),
            false => Node::File { bytes: Vec::new(), modified: None },
        };
        self.nodes.entry(node).or_insert_with(empty);
    }

    /// The bytes of a file; of one whose making was lost, those that it would have.
    fn bytes(&mut self, node: NodeId) -> &mut Vec<u8> {
        let node = self.nodes.entry(node).or_insert_with(|| Node::File { bytes: Vec::new(), modified: None });
        match node {
            Node::File { bytes, modified } => {
                *modified = None;
                bytes
            }
            Node::Folder(_) => panic!("bytes of a folder"),
        }
    }

    /// The length of a file.
    pub(crate) fn length(&self, node: NodeId) -> u64 {
        match self.nodes.get(&node) {
            Some(Node::File { bytes, .. }) => bytes.len() as u64,
            _ => 0,
        }
    }

    pub(crate) fn is_folder(&self, node: NodeId) -> bool {
        matches!(self.nodes.get(&node), Some(Node::Folder(_)))
    }

    fn folder(&mut self, node: NodeId) -> &mut BTreeMap<String, NodeId> {
        match self.nodes.entry(node).or_insert_with(|| Node::Folder(BTreeMap::new())) {
            Node::Folder(names) => names,
            Node::File { .. } => panic!("names in a file"),
        }
    }

    fn name(&mut self, at: &Place, node: NodeId) {
        self.folder(at.folder).insert(at.name.clone(), node);
    }

    fn forget(&mut self, at: &Place, node: NodeId) {
        let names = self.folder(at.folder);
        if names.get(&at.name) == Some(&node) {
            names.remove(&at.name);
        }
    }

    pub(crate) fn at(&self, place: &Place) -> Option<NodeId> {
        match self.nodes.get(&place.folder) {
            Some(Node::Folder(names)) => names.get(&place.name).copied(),
            _ => None,
        }
    }

    /// Everything that has a name, by its path from the root; folders have no bytes.
    pub(crate) fn paths(&self) -> BTreeMap<PathBuf, (NodeId, Option<&[u8]>)> {
        let (mut found, mut open) = (BTreeMap::new(), vec![(PathBuf::new(), ROOT)]);
        while let Some((path, node)) = open.pop() {
            match self.nodes.get(&node) {
                Some(Node::Folder(names)) => {
                    // Two names of one folder, where the loss of a step left both, are one folder to whoever looks.
                    if path.components().count() < 32 {
                        open.extend(names.iter().map(|(name, node)| (path.join(name), *node)));
                    }
                    found.insert(path, (node, None));
                }
                Some(Node::File { bytes, .. }) => drop(found.insert(path, (node, Some(bytes.as_slice())))),
                None => {}
            }
        }
        found.remove(Path::new(""));
        found
    }

    /// The bytes of all files by their paths.
    pub(crate) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let files = self.paths().into_iter();
        files.filter_map(|(path, (_, bytes))| Some((path.display().to_string(), bytes?.to_vec()))).collect()
    }

    /// Equal for trees of equal paths and bytes, and, as far as anybody knows, for no others.
    pub(crate) fn hash(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        for (path, (_, bytes)) in self.paths() {
            let path = path.as_os_str().as_encoded_bytes();
            hasher.update(&(path.len() as u64).to_le_bytes()).update(path);
            match bytes {
                Some(bytes) => hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes),
                None => hasher.update(&[0xff; 8]),
            };
        }
        *hasher.finalize().as_bytes()
    }

    /// Makes the files and folders in a folder of the disk, which is empty.
    pub(crate) fn materialise(&self, root: &Path) {
        for (path, (node, bytes)) in self.paths() {
            let path = root.join(path);
            match bytes {
                None => fs::create_dir(&path).expect("a folder can be made"),
                Some(bytes) => {
                    let mut file = File::create(&path).expect("a file can be made");
                    file.write_all(bytes).expect("a file can be written");
                    if let Some(Node::File { modified: Some(modified), .. }) = self.nodes.get(&node) {
                        file.set_modified(*modified).expect("a file can have an age");
                    }
                }
            }
        }
    }
}
