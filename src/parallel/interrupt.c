/* interrupt.c - see interrupt.h. */
#include "parallel/interrupt.h"

#include <signal.h>

#include "base/clock.h"
#include "base/pause.h"

enum { WORD_SIGNAL = 1, WORD_ENDED = 2 }; /* to rank 0; its answers are assay_call */

static const int NUMBERS[] = {SIGUSR1, SIGTERM, SIGINT};
enum { KINDS = sizeof NUMBERS / sizeof *NUMBERS };

/* Handlers set flags only; words are sent at the next border between steps. */
static volatile sig_atomic_t signalled, came[KINDS];

static void take_signal(int number)
{
    for (int i = 0; i < KINDS; i++)
        if (NUMBERS[i] == number)
            came[i] = 1;
    signalled = 1;
}

static void clear(void)
{
    for (int i = 0; i < KINDS; i++)
        came[i] = 0;
    signalled = 0;
}

void assay_interrupt_listen_to(int signal_number)
{
    /* SA_RESTART: a read under way goes on, so a signal never looks like a damaged file. */
    struct sigaction action = {.sa_handler = take_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(signal_number, &action, NULL);
}

void assay_interrupt_listen(void)
{
    clear();
    assay_interrupt_listen_to(SIGUSR1);
    assay_interrupt_listen_to(SIGTERM);
}

bool assay_interrupt_wished(void)
{
    return signalled != 0;
}

void assay_interrupt_forget(void)
{
    for (int i = 0; i < KINDS; i++)
        signal(NUMBERS[i], SIG_DFL);
    clear();
}

/* A second signal ends the program as if there were no handler: whoever insists is obeyed. */
void assay_interrupt_listen_once(void)
{
    struct sigaction action = {.sa_handler = take_signal, .sa_flags = SA_RESTART | (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < KINDS; i++) {
        if (came[i])
            signal(NUMBERS[i], SIG_DFL);
        else
            sigaction(NUMBERS[i], &action, NULL);
    }
}

void assay_interrupt_init(assay_interrupt *stop, assay_comm *comm, double every)
{
    *stop = (assay_interrupt){.comm = comm, .every = every, .next = assay_clock_seconds() + every};
}

static void say(assay_interrupt *stop, int to, uint64_t word)
{
    /* Notes to rank 0 are counted, so that closing can wait until each of them was taken. */
    int status = assay_comm_note(stop->comm, to, word);
    if (status == ASSAY_OK && to == 0)
        stop->sent++;
    stop->status = stop->status == ASSAY_OK ? status : stop->status;
}

/* The next word from anyone; 0 when there is none. */
static uint64_t hear(assay_interrupt *stop)
{
    uint64_t word = 0;
    int got = assay_comm_note_take(stop->comm, &word);
    if (got < 0)
        stop->status = got;
    return got > 0 ? word : 0;
}

static void hear_all(assay_interrupt *stop)
{
    for (uint64_t word; (word = hear(stop)) != 0;) {
        stop->sent++;
        stop->wished |= word == WORD_SIGNAL;
        stop->ranks_ended += word == WORD_ENDED;
    }
}

/* Rank 0 decides. Being done goes before stopping: there is nothing left to be saved for. */
static assay_call decide(assay_interrupt *stop)
{
    int ranks = assay_comm_size(stop->comm);
    /* Rank 0 is its own listener: a signal to it needs no note. */
    hear_all(stop);
    assay_call call = ASSAY_CALL_NONE;
    /* A rank whose messages fail cannot be heard any more: all are told to finish rather than wait for it. */
    if ((stop->ended && stop->ranks_ended == ranks - 1) || stop->status != ASSAY_OK)
        call = ASSAY_CALL_FINISH;
    else if (stop->wished || signalled)
        call = ASSAY_CALL_STOP;
    else if (stop->every > 0 && assay_clock_seconds() >= stop->next)
        call = ASSAY_CALL_SAVE;
    for (int r = 1; call != ASSAY_CALL_NONE && r < ranks; r++)
        say(stop, r, call);
    if (call == ASSAY_CALL_SAVE)
        stop->next = assay_clock_seconds() + stop->every;
    return call;
}

/* Called by every rank between two steps; costs one probe where nothing was said. */
assay_call assay_interrupt_border(assay_interrupt *stop)
{
    if (assay_comm_rank(stop->comm) == 0)
        return decide(stop);
    if (signalled && !stop->said) {
        stop->said = true;
        say(stop, 0, WORD_SIGNAL);
    }
    uint64_t word = hear(stop);
    return stop->status != ASSAY_OK ? ASSAY_CALL_FINISH : (assay_call)word;
}

/* Called by a rank that has nothing left to do: it answers until rank 0 says how the run goes on. */
assay_call assay_interrupt_wait(assay_interrupt *stop, assay_progress *progress)
{
    assay_pause pause = {0};
    if (!stop->ended && assay_comm_rank(stop->comm) > 0)
        say(stop, 0, WORD_ENDED);
    stop->ended = true;
    assay_call call;
    while ((call = assay_interrupt_border(stop)) == ASSAY_CALL_NONE) {
        assay_progress_look(progress);
        assay_pause_take(&pause);
    }
    return call;
}

int assay_interrupt_close(assay_interrupt *stop)
{
    assay_pause pause = {0};
    uint64_t sent = assay_comm_rank(stop->comm) > 0 ? stop->sent : 0;
    /* Collective. Rank 0 takes every note that is still on its way, so that none is left for the next run of the
     * process. */
    int status = assay_comm_sum(stop->comm, &sent, 1);
    while (status == ASSAY_OK && stop->status == ASSAY_OK && assay_comm_rank(stop->comm) == 0 && stop->sent < sent) {
        hear_all(stop);
        assay_pause_take(&pause);
    }
    return status == ASSAY_OK ? stop->status : status;
}
