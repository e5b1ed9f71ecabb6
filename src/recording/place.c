/* place.c - see place.h. */
#include "recording/place.h"

#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/file.h"

#define ZFS_MAGIC 0x2fc12fc1ul /* of OpenZFS */
#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

enum { PATH_ROOM = 4096 };

/* Tells whether the file is on a disk of this machine. On a server it may go while it is mapped: who reads it then is
 * killed. */
static bool is_on_own_disk(const char *path)
{
    static const unsigned long own[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC,       BTRFS_SUPER_MAGIC,
                                        TMPFS_MAGIC,      OVERLAYFS_SUPER_MAGIC, ZFS_MAGIC};
    struct statfs about;
    if (statfs(path, &about) != 0)
        return false;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if ((unsigned long)about.f_type == own[i])
            return true;
    return false;
}

/* `lasting`: the place is to stay good as long as the recording is open. */
bool recording_place(const assay_trial_reader *reader, const assay_record *record, bool lasting, char *path,
                     size_t room, uint64_t *offset)
{
    const char *name = NULL;
    /* A constant in the checksum's place is the mark of event files, which have their name once they are whole. */
    return (!lasting || record->checksum == ASSAY_CHECKSUM_CONSTANT) &&
           assay_reader_place(reader->records, &name, offset) &&
           assay_store_local_path(reader->trial->store, name, path, room) && (!lasting || is_on_own_disk(path));
}

bool recording_map(const assay_trial_reader *reader, const assay_record *record, recording_mapped *out)
{
    char path[PATH_ROOM];
    uint64_t offset;
    struct stat about;
    if (!recording_place(reader, record, true, path, sizeof path, &offset))
        return false;
    const int file = assay_file_open(path, &about);
    if (file < 0)
        return false;
    void *bytes = about.st_size > 0 ? mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    close(file);
    if (bytes == MAP_FAILED)
        return false;
    *out = (recording_mapped){.bytes = bytes, .size = (size_t)about.st_size};
    return true;
}

void recording_unmap(recording_mapped *mapped)
{
    if (mapped->bytes)
        munmap((void *)(uintptr_t)mapped->bytes, mapped->size);
    *mapped = (recording_mapped){0};
}
