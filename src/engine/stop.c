/* stop.c - see stop.h. */
#include "engine/stop.h"

#include <signal.h>
#include <time.h>

#include "base/clock.h"

enum { WORD_SIGNAL = 1, WORD_ENDED = 2 }; /* to rank 0; its answers are assay_call */

static volatile sig_atomic_t signalled;

static void take_signal(int number)
{
    (void)number;
    signalled = 1;
}

void assay_stop_listen_to(int signal_number)
{
    struct sigaction action = {.sa_handler = take_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(signal_number, &action, NULL);
}

void assay_stop_listen(void)
{
    signalled = 0;
    assay_stop_listen_to(SIGUSR1);
    assay_stop_listen_to(SIGTERM);
}

bool assay_stop_wished(void)
{
    return signalled != 0;
}

static const int NUMBERS[] = {SIGUSR1, SIGTERM, SIGINT};

static void set_default(void)
{
    for (size_t i = 0; i < sizeof NUMBERS / sizeof *NUMBERS; i++)
        signal(NUMBERS[i], SIG_DFL);
}

void assay_stop_forget(void)
{
    set_default();
    signalled = 0;
}

static void take_last_signal(int number)
{
    (void)number;
    signalled = 1;
    set_default();
}

void assay_stop_listen_once(void)
{
    struct sigaction action = {.sa_handler = take_last_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    if (signalled)
        set_default();
    for (size_t i = 0; !signalled && i < sizeof NUMBERS / sizeof *NUMBERS; i++)
        sigaction(NUMBERS[i], &action, NULL);
}

void assay_stop_init(assay_stop *stop, assay_comm *comm, double every)
{
    *stop = (assay_stop){.comm = comm, .every = every, .next = assay_clock_seconds() + every};
}

static void say(assay_stop *stop, int to, uint64_t word)
{
    int status = assay_comm_note(stop->comm, to, word);
    if (status == ASSAY_OK && to == 0)
        stop->sent++;
    stop->status = stop->status == ASSAY_OK ? status : stop->status;
}

/* The next word from anyone; 0 when there is none. */
static uint64_t hear(assay_stop *stop)
{
    uint64_t word = 0;
    int got = assay_comm_note_take(stop->comm, &word);
    if (got < 0)
        stop->status = got;
    return got > 0 ? word : 0;
}

static void hear_all(assay_stop *stop)
{
    for (uint64_t word; (word = hear(stop)) != 0;) {
        stop->sent++;
        stop->wished |= word == WORD_SIGNAL;
        stop->ranks_ended += word == WORD_ENDED;
    }
}

/* Rank 0 decides. Being done goes before stopping: there is nothing left to be saved for. */
static assay_call decide(assay_stop *stop)
{
    int ranks = assay_comm_size(stop->comm);
    hear_all(stop);
    assay_call call = ASSAY_CALL_NONE;
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

assay_call assay_stop_border(assay_stop *stop)
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

assay_call assay_stop_wait(assay_stop *stop, assay_progress *progress)
{
    static const struct timespec pause = {0, 500 * 1000};
    if (!stop->ended && assay_comm_rank(stop->comm) > 0)
        say(stop, 0, WORD_ENDED);
    stop->ended = true;
    assay_call call;
    while ((call = assay_stop_border(stop)) == ASSAY_CALL_NONE) {
        assay_progress_look(progress);
        nanosleep(&pause, NULL);
    }
    return call;
}

int assay_stop_close(assay_stop *stop)
{
    static const struct timespec pause = {0, 500 * 1000};
    uint64_t sent = assay_comm_rank(stop->comm) > 0 ? stop->sent : 0;
    int status = assay_comm_sum(stop->comm, &sent, 1);
    while (status == ASSAY_OK && stop->status == ASSAY_OK && assay_comm_rank(stop->comm) == 0 && stop->sent < sent) {
        hear_all(stop);
        nanosleep(&pause, NULL);
    }
    return status == ASSAY_OK ? stop->status : status;
}
