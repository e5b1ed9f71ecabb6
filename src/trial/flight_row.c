/* flight_row.c - see flight_row.h. */
#include "trial/flight_row.h"

static const assay_field part_fields[] = {
    ASSAY_FIELD(assay_flight_part, name),         ASSAY_FIELD_LIST(assay_flight_part, sizes, size_count),
    ASSAY_FIELD(assay_flight_part, inputs),       ASSAY_FIELD(assay_flight_part, input_types),
    ASSAY_FIELD(assay_flight_part, output_types), {0}};

static const assay_field signature_fields[] = {
    ASSAY_FIELD(assay_flight_signature, name), ASSAY_FIELD_ROWS(assay_flight_signature, part, parts, part_fields), {0}};

static const assay_field stack_fields[] = {ASSAY_FIELD(assay_flight_stack, frames), {0}};

static const assay_field item_fields[] = {ASSAY_FIELD(assay_flight_item, number),
                                          ASSAY_FIELD(assay_flight_item, place),
                                          ASSAY_FIELD(assay_flight_item, signature),
                                          ASSAY_FIELD(assay_flight_item, stack),
                                          ASSAY_FIELD_MOST(assay_flight_item, state, ASSAY_FLIGHT_COMPLETED),
                                          ASSAY_FIELD(assay_flight_item, open),
                                          ASSAY_FIELD(assay_flight_item, batch),
                                          ASSAY_FIELD(assay_flight_item, completed),
                                          {0}};

static const assay_field half_fields[] = {ASSAY_FIELD(assay_flight_half, peer),
                                          ASSAY_FIELD(assay_flight_half, index),
                                          ASSAY_FIELD(assay_flight_half, item),
                                          ASSAY_FIELD(assay_flight_half, sends),
                                          {0}};

static const assay_field peer_fields[] = {ASSAY_FIELD(assay_flight_peer, peer),
                                          ASSAY_FIELD(assay_flight_peer, sends),
                                          ASSAY_FIELD(assay_flight_peer, recvs),
                                          {0}};

static const assay_field count_fields[] = {ASSAY_FIELD(assay_flight_count, description),
                                           ASSAY_FIELD(assay_flight_count, operation),
                                           ASSAY_FIELD(assay_flight_count, count),
                                           {0}};

static const assay_field run_fields[] = {ASSAY_FIELD(assay_flight_run, first),
                                         ASSAY_FIELD(assay_flight_run, stride),
                                         ASSAY_FIELD(assay_flight_run, count),
                                         {0}};

static const assay_field group_fields[] = {ASSAY_FIELD(assay_flight_group, name),
                                           ASSAY_FIELD(assay_flight_group, description),
                                           ASSAY_FIELD_ROWS(assay_flight_group, run, runs, run_fields),
                                           ASSAY_FIELD(assay_flight_group, recorded),
                                           ASSAY_FIELD(assay_flight_group, collectives),
                                           ASSAY_FIELD(assay_flight_group, any_p2p),
                                           ASSAY_FIELD(assay_flight_group, batches),
                                           ASSAY_FIELD(assay_flight_group, has_status),
                                           ASSAY_FIELD(assay_flight_group, status_enqueued),
                                           ASSAY_FIELD(assay_flight_group, status_completed),
                                           ASSAY_FIELD_ROWS(assay_flight_group, item, items, item_fields),
                                           ASSAY_FIELD_ROWS(assay_flight_group, p2p, p2ps, item_fields),
                                           ASSAY_FIELD_ROWS(assay_flight_group, half, halves, half_fields),
                                           ASSAY_FIELD_ROWS(assay_flight_group, peer, peers, peer_fields),
                                           ASSAY_FIELD(assay_flight_group, follows),
                                           ASSAY_FIELD_ROWS(assay_flight_group, since, sinces, count_fields),
                                           ASSAY_FIELD_ROWS(assay_flight_group, before, befores, count_fields),
                                           {0}};

const assay_field assay_flight_row_fields[] = {
    ASSAY_FIELD(assay_flight_row, rank),
    ASSAY_FIELD(assay_flight_row, file),
    ASSAY_FIELD(assay_flight_row, version),
    ASSAY_FIELD(assay_flight_row, full),
    ASSAY_FIELD(assay_flight_row, any_completed),
    ASSAY_FIELD(assay_flight_row, starts_known),
    ASSAY_FIELD(assay_flight_row, entries),
    ASSAY_FIELD(assay_flight_row, unread),
    ASSAY_FIELD(assay_flight_row, pending),
    ASSAY_FIELD(assay_flight_row, newest),
    ASSAY_FIELD(assay_flight_row, any),
    ASSAY_FIELD(assay_flight_row, last_group),
    ASSAY_FIELD(assay_flight_row, last_stack),
    ASSAY_FIELD(assay_flight_row, last_number),
    ASSAY_FIELD(assay_flight_row, last_operation),
    ASSAY_FIELD_MOST(assay_flight_row, last_state, ASSAY_FLIGHT_COMPLETED),
    ASSAY_FIELD_ROWS(assay_flight_row, signature, signatures, signature_fields),
    ASSAY_FIELD_ROWS(assay_flight_row, stack, stacks, stack_fields),
    ASSAY_FIELD_ROWS(assay_flight_row, group, groups, group_fields),
    {0}};
