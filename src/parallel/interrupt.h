/* interrupt.h - lets the ranks interrupt their work together: for a checkpoint, or to stop.
 *
 * A signal may reach one rank or all of them. A rank that got one tells rank 0 when it next finishes a chunk. Rank 0
 * answers with a call, which every rank takes up when it next finishes one. There is no collective call until then: a
 * chunk costs one probe for a message. A rank that has finished its chunks waits for the call that all have. */
#pragma once

#include "parallel/comm.h"
#include "parallel/progress.h"

typedef enum assay_call {
    ASSAY_CALL_NONE,
    ASSAY_CALL_SAVE,  /* write a checkpoint and go on */
    ASSAY_CALL_STOP,  /* write a checkpoint and stop */
    ASSAY_CALL_FINISH /* every rank is done with its chunks */
} assay_call;

typedef struct assay_interrupt {
    assay_comm *comm;
    double every, next; /* seconds between ASSAY_CALL_SAVE, and when the next one is due; every 0: none */
    bool said, ended;   /* this rank has told rank 0 of its signal; that it is done */
    bool wished;        /* rank 0: some rank got a signal */
    int ranks_ended;    /* rank 0: others that are done */
    uint64_t sent;      /* words to rank 0; on rank 0: those taken */
    int status;
} assay_interrupt;

/* From now on SIGUSR1 and SIGTERM are wishes to stop instead of the end of the process. Not collective. */
void assay_interrupt_listen(void);

/* So for a signal of one's own choice. Not collective. */
void assay_interrupt_listen_to(int signal_number);
/* True when a signal has come to this process since it listens. Not collective. */
bool assay_interrupt_wished(void);
/* Signals end the process again; those that came are forgotten. Not collective. */
void assay_interrupt_forget(void);
/* For work that ends by itself: the first signal of each kind has no effect any more, and a second one of that kind
 * ends the process. Signals may reach the ranks seconds apart, and scancel's SIGTERM comes with the SIGUSR1 that the
 * batch script makes of it. assay_interrupt_wished() still tells of them. Not collective. */
void assay_interrupt_listen_once(void);

/* A rank's part in the calls; `every` seconds between checkpoints, 0: only when a signal comes. Not collective. */
void assay_interrupt_init(assay_interrupt *stop, assay_comm *comm, double every);

/* What to do at a chunk border, without waiting. Any answer but ASSAY_CALL_NONE is given to every rank once, in the
 * same order: the ranks act on it together. Not collective. */
assay_call assay_interrupt_border(assay_interrupt *stop);

/* For a rank that is done with its chunks: waits for the next call, which is not ASSAY_CALL_NONE. Rank 0 goes on
 * showing the progress. Not collective. */
assay_call assay_interrupt_wait(assay_interrupt *stop, assay_progress *progress);

/* After ASSAY_CALL_STOP or ASSAY_CALL_FINISH: takes what is still on its way. Returns 0 or ASSAY_EMPI. Collective. */
int assay_interrupt_close(assay_interrupt *stop);
