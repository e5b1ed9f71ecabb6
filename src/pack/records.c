/* records.c - holds the records of a trial against the checksums that they carry themselves. */
#include "pack/pack_internal.h"

#include "trial/reader.h"
#include "trial/trial_format.h"

/* A record that is larger is refused by the reader, not packed otherwise. */
enum { BUDGET = 1 << 30 };

/* Reads a record to its end, which compares its checksum; *carries: it has one of its own. */
static int read_record(assay_reader *reader, const assay_source *source, const assay_part *part,
                       const assay_entry *entry, bool *carries, assay_error *why)
{
    assay_record record;
    const uint8_t *piece = NULL;
    size_t size = 1;
    int status = assay_reader_entry(reader, part, entry, source->info->tensors, BUDGET, &record, why);
    *carries = status != ASSAY_OK || record.checksum == ASSAY_CHECKSUM_TRUE;
    while (status == ASSAY_OK && *carries && record.form != ASSAY_CONTENT_STRINGS && size > 0)
        status = assay_reader_content(reader, 0, &piece, &size, why);
    return status;
}

/* Tells whether the record may carry a checksum, by what the index knows of it; true where it knows nothing. */
static bool may_carry(const assay_part *part, const assay_entry *entry)
{
    const assay_trial_format *format = assay_format_of(part->format);
    assay_note_facts facts;
    if (!format->note_facts || !part->files || entry->file >= part->files->count)
        return true;
    const assay_file *file = &part->files->file[entry->file];
    return file->note && format->note_facts(file->note, file->note_size, &facts) && facts.summed;
}

/* One step of a worker. Of records of which the index knows nothing those behind the first of a file are as that is:
 * none of them carries a checksum if that has none. Records without a checksum are not read to their ends, as that
 * would tell nothing. */
static int check_part(const assay_source *source, const assay_part *part, assay_reader **reader, uint64_t *damaged,
                      assay_error *first)
{
    const assay_entry *entry = source->shard.entries + part->first, *end = entry + part->count, *open = NULL;
    bool carries = true;
    for (; entry < end; entry++) {
        assay_error why = {""};
        const bool same = open && assay_part_same_file(part, open->file, entry->file);
        int status = ASSAY_OK;
        if (!may_carry(part, entry) || (same && !carries))
            continue;
        /* Opens only where the file is another one than before. */
        status = assay_reader_open(reader, source->store, &source->catalog, part, entry->file, &why);
        if (status == ASSAY_OK) {
            assay_reader_want_heads_only(*reader, true);
            status = read_record(*reader, source, part, entry, &carries, &why);
        }
        open = status == ASSAY_OK && !assay_format_of(part->format)->note_facts ? entry : NULL;
        if (status == ASSAY_ENOMEM)
            return status;
        /* What is not there or too short was counted before; only what was read tells of values. */
        if (status == ASSAY_EFORMAT && (*damaged)++ == 0)
            *first = why;
    }
    return ASSAY_OK;
}

/* Collective. Damaged records are packed all the same, as they are: their number goes into the figures. */
int assay_pack_check_records(assay_packing *p, uint64_t *damaged, assay_error *first, assay_error *err)
{
    const assay_source *source = p->source;
    assay_reader *reader = NULL;
    int status = ASSAY_OK;
    *damaged = 0;
    /* From a server all would come twice: there the records are left to whoever reads the packed file. */
    for (size_t i = 0; !assay_store_waits(source->store) && i < source->shard.count && status == ASSAY_OK; i++)
        status = check_part(source, &source->shard.parts[i], &reader, damaged, first);
    assay_reader_close(reader);
    status = assay_comm_agree(p->comm, status, err);
    ASSAY_TRY(status);
    assay_comm_agree(p->comm, *damaged > 0 ? ASSAY_EFORMAT : ASSAY_OK, first);
    return assay_comm_sum(p->comm, damaged, 1);
}
