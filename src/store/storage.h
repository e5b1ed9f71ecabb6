/* storage.h - where a trial lies. A scheme (none or file://, for a directory or a packed trial's file; s3:// for a
 * bucket) is chosen by the location; everything above reads through these calls only. All paths are relative to the
 * trial's root and use '/'.
 *
 * How it works:
 *   1. storage.c picks the backend (backend.h) by the location: posix.c for directories, packed_hdf5.c for packed
 *      trials, s3.c for buckets. A backend lists files and directories and reads their bytes. Their meaning is the
 *      format's (format/).
 *   2. Names of a directory come sorted, and a file is read at any offset. A directory is listed once (listings.h): who
 *      wants to see a later state opens the place anew.
 *   3. Who will read a file soon says so (assay_store_ahead). A backend that waits for a disk or a server fetches it
 *      meanwhile, and says by assay_store_waits() whether that is worth while.
 *   4. A stamp tells whether a file or directory changed without reading it. Storages that never change have none. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <assay/pack.h>
#include <assay/status.h>

typedef struct assay_store assay_store;           /* one trial's root */
typedef struct assay_store_file assay_store_file; /* one file open for reading */

/* Names in one directory, byte order, without "." and ".."; release with assay_names_release(). */
typedef struct assay_names {
    char **name; /* owned */
    size_t count;
    bool borrowed; /* of the store's root: releasing does nothing */
} assay_names;
void assay_names_release(assay_names *names);

/* Is it the name (`length` bytes) of a packed trial? */
bool assay_is_packed_name(const char *name, size_t length);

/* Opens the root. ASSAY_ENOTFOUND when there is no such directory (the message says what to do), ASSAY_EUNSUPPORTED for
 * a scheme that is known but not built in, ASSAY_EUSAGE for one that is unknown. Close with assay_store_close(). */
int assay_store_open(const char *location, assay_store **out, assay_error *err);
/* Opens the same place once more, for another trial in it. Directories that one of these stores has listed are known to
 * all, as they were then; so are the answers below. What they share stays until the last of them is closed. What is
 * noted, kept and opened is each store's own. 0 or ASSAY_ENOMEM. */
int assay_store_open_beside(assay_store *store, assay_store **out, assay_error *err);
/* Closes it; NULL: nothing happens. */
void assay_store_close(assay_store *store);
/* Room for what a format made of what it found in the store, so that it need not do so again for each worker: NULL at
 * first. What lies there is released with the store. */
void **assay_store_kept(assay_store *store, void (*release)(void *kept));
/* The location as it was given. */
const char *assay_store_location(const assay_store *store);
/* Is the trial one file, and the rest of its directory not there? Its name may be any then. */
bool assay_store_is_file(const assay_store *store);

/* Puts the path of a file on this machine into `out`, terminated; false where the storage is no directory of it, or the
 * path does not fit. There need not be such a file. */
bool assay_store_local_path(const assay_store *store, const char *path, char *out, size_t room);

/* Notes a failure that its caller takes for "there is no such thing", so that what is missing then is not missing
 * without a word. exists, size_of, stamp_of, list and read do so where they get no `err`, of failures of the system and
 * of servers. Each path and text is kept once. */
void assay_store_note(assay_store *store, const char *path, const char *text);
/* Takes the oldest note away; the texts are the store's, valid until the next note. False: there is none. Whoever reads
 * a part of a trial ends with assay_problems_take_notes() (trial/problem.h). */
bool assay_store_take_note(assay_store *store, const char **path, const char **text);
/* True, once, where such a call, or a note, lacked memory. */
bool assay_store_lacked_memory(assay_store *store);

/* ASSAY_EIO where a listing so far was refused or broke off, in a storage whose trial is unknown if its listing is
 * incomplete: the message has the directory and the reason. */
int assay_store_listed_whole(const assay_store *store, assay_error *err);

/* Absence. A directory or file that cannot be found, though a listing of the directory around it has its name, is not
 * absent: that is ASSAY_EIO for the calls below (a link that leads nowhere, a server that contradicts itself, what was
 * removed meanwhile). Only what nobody listed is ASSAY_ENOTFOUND. */

/* Lists a directory: its sub-directories or its files. A directory that does not exist is ASSAY_ENOTFOUND. One to which
 * a link leads back from below is empty there: its files have shorter names already. */
int assay_store_list(assay_store *store, const char *directory, assay_names *out, assay_error *err);
/* The names in the root, borrowed from the store, which keeps them: not to be released or sorted anew. As
 * assay_store_list(). */
int assay_store_list_root(assay_store *store, assay_names *borrowed, assay_error *err);
/* What `asks` says of the names in the root, such as whether they are those of a format. Each question has a number below
 * ASSAY_STORE_QUESTIONS, and is asked once for all stores of the place. False where they cannot be listed. */
enum { ASSAY_STORE_QUESTIONS = 64 };
bool assay_store_ask_root(assay_store *store, unsigned question, bool (*asks)(const assay_names *names));
/* Likewise, where `asks` looks at what has the names. The answer of one store is that of the others, so `asks` notes
 * nothing, and says yes where something cannot be told: then each of them looks for itself. */
bool assay_store_ask_files(assay_store *store, unsigned question,
                           bool (*asks)(assay_store *store, const assay_names *names));
/* Says that a directory will be listed soon; a storage that waits for a server asks for it meanwhile. */
void assay_store_list_ahead(assay_store *store, const char *directory);
/* True where a listing waits for a server. */
bool assay_store_listing_waits(const assay_store *store);
/* 1 when a file of that name exists; 0 when there is nothing, or something that is no regular file; negative on error.
 */
int assay_store_exists(assay_store *store, const char *path, assay_error *err);

/* The size of a file without opening it: 1 with *size; 0 and negative as above. */
int assay_store_size_of(assay_store *store, const char *path, uint64_t *size, assay_error *err);

/* True when a symbolic link on the way to a file leads out of the root. Only where the system can tell (Linux from 5.6
 * on); false else, and for storages without links. */
bool assay_store_leads_out(assay_store *store, const char *path);

/* Of the symbolic links in the directories that this store has listed so far, one that leads out of the root: the first in
 * byte order, in the store's memory until the next listing. NULL: none does. *several: there are more. */
const char *assay_store_outside(const assay_store *store, bool *several);

/* By what a change of a file or directory is noticed without reading it: equal stamps, nothing happened. */
typedef struct assay_store_stamp {
    uint64_t size; /* bytes of a file */
    int64_t time;  /* of the last change, nanoseconds of the storage's own clock */
    uint64_t node; /* another number, another file of that name */
} assay_store_stamp;
/* The stamp of a file or directory: 1 with *out; 0 with *out all zero when there is none; negative on error,
 * ASSAY_EUNSUPPORTED for storages whose contents never change. */
int assay_store_stamp_of(assay_store *store, const char *path, assay_store_stamp *out, assay_error *err);

/* From true to false, which may nest: what a place was found to hold as a whole is not listed again for stores of it, or of
 * a place below it, that this process opens meanwhile. All see it as it was first listed. For storages that wait for a
 * server; others pay nothing for a listing. */
void assay_store_share_listings(bool share);

/* For who looks at a trial again and again, each time with a new store: `from` has a path of each directory of the root
 * that is looked at as a whole ("logs", "steps/000700"). Of what comes before it, in byte order, nothing has
 * changed since `before` listed it; a storage that waits for a server then lists what is behind. NULL: all is listed.
 * What `before` knew is gone afterwards. ASSAY_OK or ASSAY_ENOMEM. */
int assay_store_follow(assay_store *store, assay_store *before, const char *const *from, size_t count);

/* Opens a file for reading at any offset. ASSAY_ENOTFOUND, ASSAY_EIO. */
int assay_store_open_file(assay_store *store, const char *path, assay_store_file **out, assay_error *err);
void assay_store_close_file(assay_store_file *file);
uint64_t assay_store_file_size(const assay_store_file *file);
/* From now on keeps the size of every file that is opened, for ranks that each read a part of one trial: what they
 * opened of it has to be the same. 0 or ASSAY_ENOMEM. */
int assay_store_keep_sizes(assay_store *store);
/* Appends them. join adds those of another store of the same place: ASSAY_EIO where a file has two sizes, as the message
 * says; ASSAY_EINTERNAL, ASSAY_ENOMEM. */
void assay_store_pack_sizes(const assay_store *store, assay_buf *out);
int assay_store_join_sizes(assay_store *store, assay_cursor *in, assay_error *err);
/* True when the storage holds what is read of it against checksums of its own. */
bool assay_store_file_is_summed(const assay_store_file *file);
/* Reads up to `size` bytes from a file's beginning; how many there are, and 0 where it cannot be read. */
size_t assay_store_read_head(assay_store *store, const char *path, void *bytes, size_t size);
/* Reads up to `size` bytes at `offset`; *got is smaller only at the end of the file. Honours ASSAY_FAULT_READ. */
int assay_store_read_at(assay_store_file *file, uint64_t offset, void *bytes, size_t size, size_t *got,
                        assay_error *err);

/* True after a read that had to wait for a disk or a server: what comes next is worth asking for ahead. False while all
 * is in memory, and for storages that cannot tell. */
bool assay_store_waits(const assay_store *store);
/* How many files, and of how many bytes together, are worth asking for ahead. */
void assay_store_depth(const assay_store *store, size_t *files, uint64_t *bytes);
/* Says that the `size` bytes at `offset` of a file (0: to its end) will be read soon; the file is opened and its bytes
 * are fetched meanwhile, where the storage can do that. What goes wrong is left for assay_store_open_file() to tell. No
 * more files stay open so than assay_store_depth() says, the last ones. */
void assay_store_ahead(assay_store *store, const char *path, uint64_t offset, uint64_t size);

/* What the store learned of its files by listing them: for another rank's store of the same place, which then need not
 * ask again, and notices what changed since. ASSAY_EINTERNAL, ASSAY_ENOMEM. */
void assay_store_pack_listed(const assay_store *store, assay_buf *out);
int assay_store_unpack_listed(assay_store *store, assay_cursor *in);
/* The same of what it learned since then, but for the names in directories; false: never anything. */
bool assay_store_pack_learned(const assay_store *store, assay_buf *out);
int assay_store_unpack_learned(assay_store *store, assay_cursor *in);
/* True where everything that is read is held against checksums of the storage's own. */
bool assay_store_is_summed(const assay_store *store);
/* True for a packed trial of a version whose tables have no checksums: what damages them may go unnoticed. */
bool assay_store_is_unsummed(const assay_store *store);
/* Bytes of a packed trial's file behind the end that it says itself. */
uint64_t assay_store_behind(const assay_store *store);

/* Reads a whole file of at most `ceiling` bytes into an initialised buffer. */
int assay_store_read(assay_store *store, const char *path, size_t ceiling, assay_buf *out, assay_error *err);
