// Package output writes the result of a render to a folder or to a file. A folder changes
// atomically, and files that krmflow did not write are preserved.
//
// # How a folder changes atomically
//
// [Open] locks the folder. [Dir.Put] writes new and changed files to a staging folder next to it,
// which only the user can read. [Dir.Commit] adds the unchanged files as hard links, adds the
// manifests, and exchanges the two folders with one system call.
//
// Some folders cannot be exchanged: a mount point, a folder with foreign files that must stay,
// and every folder on a system without the call. In these cases the staging folder is inside the
// output folder, and renaming it to .krmflow-journal commits the change. Before the rename, the
// old state is valid. After it, the new state is valid even if the process dies, because the next
// process that opens the folder completes the journal. Meanwhile readers can see a mix of old and
// new files.
//
// The folder of each root has a manifest that lists the files written by krmflow, with their
// digests. A file that no manifest lists is never replaced or removed. If the manifest of a root
// is lost, Put takes over files that already have the content it would write.
package output
