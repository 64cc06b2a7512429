// Package output writes what a render makes: a folder that changes in one step and keeps what it did not write, or a file.
//
// # How a folder changes in one step
//
// [Open] locks the folder. [Dir.Put] writes what is new to a staging folder beside it, which only the user can read. [Dir.Commit] adds
// the files that stay, as second names of the same files, and the manifests, and exchanges the two folders in one system call.
//
// Not every folder can be exchanged: a mount point cannot, one with files of others must keep these, and not every system has the
// call. The staging folder is then inside the folder, and renaming it to .krmflow-journal is the step that counts. Before it the old
// state holds; after it the new one does, even if the process dies: whoever opens the folder next carries the journal out. Readers may
// see some old and some new files meanwhile.
//
// The manifests, one in the folder of each root, list what krmflow wrote, with digests. A file that none of them lists is never replaced or
// removed; one that is missing in them is taken over if it already is what the run would write.
package output
