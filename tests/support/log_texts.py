"""Logs as texts, a part of logs.py: what programs print, tables, and rows of JSON, with what stands in them by mode and step."""
import csv
import gzip
import json
import math
import shutil
import struct

import logs
from launch import TRIALS, run

PRINTED = {
    "a sharded trainer": ("[rank0]:[t] 2025-06-16 22:30:50,322 - root - INFO - step:  1  loss: 12.2386  grad_norm:  1.45  memory: 49.66GiB(52.28%)  tps: 5,856  mfu: 34.29%\n"
                          "[rank0]:[t] 2025-06-16 22:30:50,758 - root - INFO - Dumping traces at step 1\n"
                          "[rank0]:\x1b[31m[t] 2025-06-16 22:31:04,970 - root - INFO - validate step: 10  loss: 7.0\x1b[39m\n",
                          {("TRAIN", 1): {"loss": 12.2386, "grad_norm": 1.45, "memory": 49.66, "tps": 5856, "mfu": 34.29}, ("EVAL", 10): {"loss": 7}}),
    "an engine": ("[2022-03-11 02:06:58,985] [INFO] [logging.py:69:log_dist] [Rank 0] step=40, skipped=2, lr=[5e-05, 6e-05], mom=[[0.9, 0.999]]\n"
                  "steps: 50 loss: 2.3456 iter time (s): 0.123 samples/sec: 123.400\n",
                  {("TRAIN", 40): {"skipped": 2, "lr": 5e-05, "mom": 0.9}, ("TRAIN", 50): {"loss": 2.3456, "iter time (s)": 0.123, "samples/sec": 123.4}}),
    "iterations and steps": ("Epoch 3 | iter 50 step 25 | loss train: 2.846, val: n/a | iter time: 112.20 ms (step) remaining time: 0:01:54\n"
                             "Epoch 3 | iter 60 step 30 | loss train: 2.750, val: 2.861 | iter time: 111.35 ms\niter 61: val loss 1.7258, val time: 37.5 ms\n",
                             {("TRAIN", 50): {"epoch": 3, "step": 25, "loss train": 2.846, "iter time": 112.2}, ("TRAIN", 60): {"epoch": 3, "step": 30, "loss train": 2.75, "iter time": 111.35},
                              ("EVAL", 60): {"loss val": 2.861}, ("EVAL", 61): {"val loss": 1.7258, "val time": 37.5}}),
    "a small trainer": ("number of parameters: 123.59M\nstep 0: train loss 10.9886, val loss 10.9898\n2023-03-22 09:30:39 iter 10: loss 3.9883, time 1099.34ms, mfu 15.34%\n"
                        "iter 20: loss nan, time 1.5ms, mfu -100.00%\n",
                        {("TRAIN", 0): {"train loss": 10.9886}, ("EVAL", 0): {"val loss": 10.9898}, ("TRAIN", 10): {"loss": 3.9883, "time": 1099.34, "mfu": 15.34},
                         ("TRAIN", 20): {"loss": math.nan, "time": 1.5, "mfu": -100}}),
    "a score behind": ("step   10/74 | loss 4.112 (+0.00z)| norm 2.1234 (+nanz)| lr 3.00e-04 | 45.23 ms | 50.1% bf16 MFU | 12345 tok/s\nvalidation loss: 10.9\nstep:11/5100 train_loss:6.8 train_time:1234ms\n",
                       {("TRAIN", 10): {"loss": 4.112, "norm": 2.1234, "lr": 3e-4}, ("EVAL", 10): {"validation loss": 10.9}, ("TRAIN", 11): {"train_loss": 6.8, "train_time": 1234}}),
    "dictionaries": ("  0%|      | 0/1000 [00:00<?, ?it/s]\r 10%|#   | 100/1000 [01:00<09:00, 1.66it/s]{'loss': 2.34, 'grad_norm': 1.25, 'epoch': 0.1}\n{'loss': '2.14', 'epoch': 0.2}\n"
                     "{'eval_loss': 1.2, 'epoch': 0.2}\n{'loss': 2.04, 'epoch': 0.3}\n{'train_runtime': 100.1, 'train_loss': 2.2, 'epoch': 0.3}\n",
                     {("TRAIN", 1): {"loss": 2.34, "grad_norm": 1.25, "epoch": 0.1}, ("TRAIN", 2): {"loss": 2.14, "epoch": 0.2}, ("EVAL", 2): {"eval_loss": 1.2, "epoch": 0.2},
                      ("TRAIN", 3): {"loss": 2.04, "epoch": 0.3}, ("GLOBAL", 3): {"train_runtime": 100.1, "train_loss": 2.2, "epoch": 0.3}}),
    "bars": ("Epoch 1/3\n\r  1/100 [....] - ETA: 5s - loss: 2.9\b\b\b100/100 [====] - 5s 50ms/step - loss: 0.5 - accuracy: 0.8 - val_loss: 0.4\nEpoch 2/3\n"
             "\x1b[1m 50/100\x1b[0m \x1b[32m\u2501\u2501\x1b[0m \x1b[1m5s\x1b[0m 50ms/step - loss: 0.55\r\x1b[1m100/100\x1b[0m \u2501\u2501 5s 50ms/step - loss: 0.45\n",
             {("TRAIN", 1): {"loss": 0.5, "accuracy": 0.8}, ("EVAL", 1): {"val_loss": 0.4}, ("TRAIN", 2): {"loss": 0.45}}),
    "updates": ("2020-07-17 04:08:14 | INFO | train_inner | epoch 001:    100 / 2952087 loss=16.348, ppl=83437.5, num_updates=100, lr=1e-06, gnorm=4.215\n"
                "| epoch 001 | valid on 'valid' subset | valid_loss 4.28149 | num_updates 200\n",
                {("TRAIN", 100): {"epoch": 1, "loss": 16.348, "ppl": 83437.5, "lr": 1e-6, "gnorm": 4.215}, ("TRAIN", 200): {"epoch": 1}, ("EVAL", 200): {"valid_loss": 4.28149}}),
    "batches in brackets": ("01/13 00:00:00 - INFO - Epoch(train)  [1][100/100]  lr: 1.0e-03  eta: 1 day, 2:03:04  time: 0.5  loss: 1.2\n"
                            "2023/01/01 00:00:00 - INFO - Epoch(val) [1][50/50]    accuracy/top1: 76.5\n2023/01/01 00:00:00 - INFO - Epoch(train)  [2][ 50/100]  lr: 1.0e-03  time: 0.5  loss: 1.0\n",
                            {("TRAIN", 100): {"epoch": 1, "lr": 1e-3, "time": 0.5, "loss": 1.2}, ("EVAL", 100): {"epoch": 1, "accuracy/top1": 76.5}, ("TRAIN", 150): {"epoch": 2, "lr": 1e-3, "time": 0.5, "loss": 1}}),
    "averages behind": ("Epoch: [0][  10/50]\tTime  0.5 ( 1.2)\tLoss 6.9e+00 (7.0e+00)\tAcc@1   5.47 (  0.21)\nTest: [ 0/196]\tTime 1.0\tLoss 5.5 (5.6)\n *   Acc@1 55.0\nEpoch: [1][   0/50]\tLoss 6.7 (7.0)\n",
                        {("TRAIN", 10): {"epoch": 0, "Time": 0.5, "Loss": 6.9, "Acc@1": 5.47}, ("PREDICT", 10): {"Time": 1, "Loss": 5.5, "Acc@1": 55}, ("TRAIN", 50): {"epoch": 1, "Loss": 6.7}}),
    "rates behind": ("Train: 0 [   7/9 ( 78%)]  Loss: 6.94 (6.94)  Time: 3.5s,  292.3/s  (3.5s,  292.3/s)  LR: 1.000e-05\nTrain: 1 [   0/9 (  0%)]  Loss: 6.70 (6.74)  LR: 1.000e-05\n",
                     {("TRAIN", 7): {"epoch": 0, "Loss": 6.94, "Time": 3.5, "LR": 1e-5}, ("TRAIN", 9): {"epoch": 1, "Loss": 6.7, "LR": 1e-5}}),
    "steps of epochs": ("Epoch [1/5], Step [100/600], Loss: 2.3\nEpoch [1/5], Step [600/600], Loss: 2.2\nEpoch [2/5], Step [100/600], Loss: 2.1\n",
                        {("TRAIN", 100): {"epoch": 1, "Loss": 2.3}, ("TRAIN", 600): {"epoch": 1, "Loss": 2.2}, ("TRAIN", 700): {"epoch": 2, "Loss": 2.1}}),
    "source before": ("import os\nlr: float = 0.1\nval_loss /= 8\nloss = 3\nStage(lr=1.5, size=4, loss=2)\nstep:0/9 val_loss:16.0 train_time:278ms step_avg:nanms\nstep:1/9 train_loss:15.5 train_time:300ms\n",
                      {("TRAIN", 0): {"train_time": 278}, ("EVAL", 0): {"val_loss": 16}, ("TRAIN", 1): {"train_loss": 15.5, "train_time": 300}}),
    "thousands": ("step:800 smpl:6K loss:3.5\nstep:1K smpl:8K loss:3.25 grdn:1.5\nstep:1K loss:3\nstep:1K loss:2.75\nstep:2K loss:2.5\nstep:2K/10K loss:2.25\nstep:1.5M loss:2\n",
                  {("TRAIN", 800): {"loss": 3.5}, ("TRAIN", 1000): {"loss": 3.25, "grdn": 1.5}, ("TRAIN", 1200): {"loss": 3}, ("TRAIN", 1400): {"loss": 2.75}, ("TRAIN", 1600): {"loss": 2.5},
                   ("TRAIN", 1800): {"loss": 2.25}, ("TRAIN", 1500000): {"loss": 2}}),
    "episodes": ("".join("INFO:root:Episode %d | Avg Reward: %d | Epsilon: 0.5\n" % (e, e + 5) for e in (0, 10, 20, 30, 40)),
                 {("TRAIN", e): {"Avg Reward": e + 5, "Epsilon": 0.5} for e in (0, 10, 20, 30, 40)}),
    "ticks": ("".join("tick %d kimg %d.0 time %dh 36m 26s   sec/tick 153.8   sec/kimg 38.45   augment 0.5%d\n" % (t, 4 * t, t, t) for t in range(3)),
              {("TRAIN", t): {"kimg": 4 * t, "sec/tick": 153.8, "sec/kimg": 38.45, "augment": 0.5 + 0.01 * t} for t in range(3)}),
    "numbers before names": ("Loaded: 0.1 seconds\n" + "".join(" %d: %g, %g avg loss, 0.001000 rate, 3.25 seconds, %d images, 10.1 hours left\n" % (100 * i, 9 - i, 9.5 - i, 6400 * i) for i in (1, 2)) + "300: -nan, -nan avg, 0.001 rate, 3.5 seconds, 64 images\n",
                             {**{("TRAIN", 100 * i): {"loss": 9 - i, "avg loss": 9.5 - i, "rate": 0.001, "seconds": 3.25, "images": 6400 * i} for i in (1, 2)},
                              ("TRAIN", 300): {"loss": math.nan, "avg loss": math.nan, "rate": 0.001, "seconds": 3.5, "images": 64}}),
    "capitals": ("".join("ITERATION %02d: TRAIN AVG.LOSS %d, (lrate0.008), CROSSVAL AVG.LOSS %d, nnet accepted (nnet.dbn_iter01)\n" % (i, 9 - i, 10 - i) for i in (1, 2)),
                 {(m, i): {n + " AVG.LOSS": v - i} for i in (1, 2) for m, n, v in (("TRAIN", "TRAIN", 9), ("EVAL", "CROSSVAL", 10))}),
    "costs": ("".join("[2020-01-01 10:00:00] Ep. 1 : Up. %d : Sen. 30,000 : Cost %d * 1,000,000 @ 5,000 after 2,000,000 : Time 30.5s : gNorm 1.5 : L.r. 3.0e-05\n" % (500 * i, 9 - i) for i in (1, 2)),
              {("TRAIN", 500 * i): {"epoch": 1, "Sen.": 30000, "Cost": 9 - i, "after": 2000000, "Time": 30.5, "gNorm": 1.5, "L.r.": 3e-5} for i in (1, 2)}),
    "no loss by name": ("".join("INFO:root:Epoch[%d] Batch [%d]\tSpeed: 30.5 samples/sec\tTrain-CrossEntropy=%d\tTrain-SmoothL1=0.5\n" % (e, 20 * b, 9 - e - b) for e in (0, 1) for b in (1, 2)),
                        {("TRAIN", 40 * e + 20 * b): {"epoch": e, "Speed": 30.5, "Train-CrossEntropy": 9 - e - b, "Train-SmoothL1": 0.5} for e in (0, 1) for b in (1, 2)}),
    "a sign of steps": ("E    #       LOSS TOK2VEC  LOSS NER  SCORE \n---  ------  ------------  --------  ------\n" + "".join("  0  %6d  %12.2f  %8.2f    0.25\n" % (200 * i, 9 - i, 5 - i) for i in range(3)),
                        {("TRAIN", 200 * i): {"E": 0, "LOSS TOK2VEC": 9 - i, "LOSS NER": 5 - i, "SCORE": 0.25} for i in range(3)}),
    "names of columns": ("epoch,loss,val_loss\n0,3,4\n1,2,3\n2,1,2.5\n", {(m, e): {t: v} for e, (a, b) in enumerate(((3, 4), (2, 3), (1, 2.5))) for m, t, v in (("TRAIN", "loss", a), ("EVAL", "val_loss", b))}),
    "a restart": ("step: 1 loss: 3\nstep: 2 loss: 2\nstep: 3 loss: 1.5\nstep: 2 loss: 2.5\n", {("TRAIN", 1): {"loss": 3}, ("TRAIN", 2): {"loss": 2.5}}),
    "lines below": ("2024-03-01 12:00:00.123\thost:0\tINFO\t[step=10/739,epoch=0]\n    optim/total_grad_norm=2.5\n    train/CrossEntropyLoss=11.03\n    train/Perplexity=61,234\n",
                    {("TRAIN", 10): {"optim/total_grad_norm": 2.5, "train/CrossEntropyLoss": 11.03, "train/Perplexity": 61234}}),
    "lines below a batch": ("[batch=10/4800]:\n\t Train time/batch: 9\n\t Train loss/train/total: 4.5\n", {("TRAIN", 10): {"Train loss/train/total": 4.5}}),
    "rounds": ("[10:00:00] booster: gbtree\n[0]\ttrain-rmse:0.50000\tvalid-rmse:0.60000\n[1]\ttrain-rmse:0.40000\tvalid-rmse:0.55000\n[2]\ttrain-rmse:nan\tvalid-rmse:0.5\n",
               {("TRAIN", 0): {"train-rmse": 0.5}, ("EVAL", 0): {"valid-rmse": 0.6}, ("TRAIN", 1): {"train-rmse": 0.4}, ("EVAL", 1): {"valid-rmse": 0.55},
                ("TRAIN", 2): {"train-rmse": math.nan}, ("EVAL", 2): {"valid-rmse": 0.5}}),
    "rounds and times": ("".join("%d:\tlearn: %.2f\ttotal: 1.5s\tremaining: 3s\n" % (i, 0.9 - 0.1 * i) for i in range(0, 6, 2)),
                         {("TRAIN", i): {"learn": round(0.9 - 0.1 * i, 2), "total": 1.5, "remaining": 3} for i in range(0, 6, 2)}),
    "a place in the source": ("".join("I0601 10:00:00.123456 140 writer.py:48] [%d] learning_rate=0.1, loss=%d\n" % (10 * i, 9 - i) for i in range(3)),
                              {("TRAIN", 10 * i): {"learning_rate": 0.1, "loss": 9 - i} for i in range(3)}),
    "a solver": ("I0601 10:00:00.123456 12345 solver.cpp:228] Iteration 100, loss = 2.5\nI0601 10:00:00.123456 12345 solver.cpp:244]     Train net output #0: loss = 2.5 (* 1 = 2.5 loss)\n",
                 {("TRAIN", 100): {"loss": 2.5}}),
    "words in short": ("s:0 tel:11.0\ns:1 trl:10.9 lr:0.000001 norm:15.3\ns:1 eval:0.25\n", {("EVAL", 0): {"val loss": 11}, ("TRAIN", 1): {"train loss": 10.9, "lr": 1e-6, "norm": 15.3},
                                                                                  ("EVAL", 1): {"eval": 0.25}}),
    "epochs on lines of their own": ("".join("Epoch %d/2\nBatch 100/600 loss 2.%d\nBatch 600/600 loss 1.%d\nval loss: 0.%d\n" % (e, e, e, e) for e in (1, 2)),
                                     {("TRAIN", 100): {"loss": 2.1}, ("TRAIN", 600): {"loss": 1.1}, ("EVAL", 600): {"val loss": 0.1},
                                      ("TRAIN", 700): {"loss": 2.2}, ("TRAIN", 1200): {"loss": 1.2}, ("EVAL", 1200): {"val loss": 0.2}}),
    "epochs behind their steps": ("".join("step 100 loss: 2.%d\nstep 600 loss: 1.%d\nEpoch %d done, train loss: 3.%d\n" % (e, e, e, e) for e in (0, 1)),
                                  {("TRAIN", 100): {"loss": 2}, ("TRAIN", 600): {"loss": 1, "train loss": 3}, ("TRAIN", 700): {"loss": 2.1}, ("TRAIN", 1200): {"loss": 1.1, "train loss": 3.1}}),
    "epochs alone": ("iter 1: loss 9\n" + "".join("Epoch %d loss: 2.%d\n" % (e, e) for e in (2, 3, 4)),
                     {("TRAIN", 1): {"loss": 2.2}, ("TRAIN", 3): {"loss": 2.3}, ("TRAIN", 4): {"loss": 2.4}}),
    "sentences": ("".join("Epoch %d, Step 25, total used time 7.1 (s), avg loss so far is 0.%d\nEpoch %d, Step 75, total used time 7.2 (s), avg loss so far was nan\n"
                          "Epoch %d, val loss is 0.25, val mse is 0.125.\n" % (e, e, e, e) for e in (6, 7)),
                  {("TRAIN", 25): {"epoch": 6, "avg loss so far": 0.6}, ("TRAIN", 75): {"epoch": 6, "avg loss so far": math.nan}, ("EVAL", 75): {"val loss": 0.25, "val mse": 0.125},
                   ("TRAIN", 100): {"epoch": 7, "avg loss so far": 0.7}, ("TRAIN", 150): {"epoch": 7, "avg loss so far": math.nan}, ("EVAL", 150): {"val loss": 0.25, "val mse": 0.125}}),
    "words behind is": ("step: 1 loss: 2\nstep: 2 Model is improving acc: 0.5\n", {("TRAIN", 1): {"loss": 2}, ("TRAIN", 2): {"Model is improving acc": 0.5}}),
    "boxes": ("".join("-----------------------------\n| rollout/           |        |\n|    ep_len_mean     | 22.5   |\n| time/              |        |\n|    iterations      | %d      |\n"
                      "|    total_timesteps | %d   |\n| train/             |        |\n|    policy          | mlp    |\n|    loss            | %s  |\n-----------------------------\n" % row
                      for row in ((1, 2048, "7.5e-1"), (2, 4096, "nan"))) + "------------\n| epoch | 3 |\n",
              {("TRAIN", 2048): {"rollout/ep_len_mean": 22.5, "time/iterations": 1, "train/loss": 0.75}, ("TRAIN", 4096): {"rollout/ep_len_mean": 22.5, "time/iterations": 2, "train/loss": math.nan}}),
    "boxes that are cut": ("--------\n| epoch | 1 |\n| loss | 2.5 |\n--------\n| epoch | 2 |\n| loss | 2.25 |\n", {("TRAIN", 1): {"loss": 2.5}, ("TRAIN", 2): {"loss": 2.25}}),
    "boxes of sections": ("".join("--------------------\n| train/loss | %s |\n| total/epochs | %d |\n| total/steps | %s |\n--------------------\n" % row
                                  for row in ((0.75, 1, "2000"), (0.5, 2, "4e+03"), (0.25, 3, "6000"))),
                          {("TRAIN", 2000 * e): {"train/loss": 1 - 0.25 * e, "epoch": e} for e in (1, 2, 3)}),
    "a table of tabs": ("Epoch\tLR\tTrain Loss\tTest Loss\t\n1.000000\t0.1\t2.5\t2.75\t\n2.000000\t0.1\t2.25\tnan\t\n",
                        {("TRAIN", 1): {"LR": 0.1, "Train Loss": 2.5}, ("PREDICT", 1): {"Test Loss": 2.75}, ("TRAIN", 2): {"LR": 0.1, "Train Loss": 2.25}, ("PREDICT", 2): {"Test Loss": math.nan}}),
    "a table of blanks": ("epoch     train_loss  valid_loss  time    \n0         2.500000    2.750000    00:12     \n", {("TRAIN", 0): {"train_loss": 2.5}, ("EVAL", 0): {"valid_loss": 2.75}}),
    "a table with a bar": ("      Epoch    GPU_mem   box_loss   cls_loss       Size\n        1/3      3.21G      2.5      1.5        640: 100%|####| 8/8 [00:01<00:00,  4.12it/s]\n",
                           {("TRAIN", 1): {"box_loss": 2.5, "cls_loss": 1.5, "Size": 640}}),
    "updates in an object": ('10:00 | INFO | train_inner | {"epoch": 1, "update": 1.0, "loss": "9.5", "num_updates": "100"}\n', {("TRAIN", 100): {"epoch": 1, "update": 1, "loss": 9.5}}),
    "metrics.json": ('{"iteration": 19, "loss_cls": 0.5, "total_loss": 2.5, "lr": 0.001}\n{"iteration": 39, "total_loss": NaN}\n',
                     {("TRAIN", 19): {"loss_cls": 0.5, "total_loss": 2.5, "lr": 0.001}, ("TRAIN", 39): {"total_loss": math.nan}}),
    "parts of a line": ("".join("epoch %d | Train: loss 2.%d, acc 0.5 | Val: loss 3.%d, acc 0.25\n" % (e, e, e) for e in (1, 2)),
                        {(m, e): {"loss": v + 0.1 * e, "acc": a} for e in (1, 2) for m, v, a in (("TRAIN", 2, 0.5), ("EVAL", 3, 0.25))}),
    "a subset in words": ("2021-01-02 03:04:05 | INFO | train_inner | epoch 001:    100 / 2000 loss=2.5, num_updates=100, lr=0.0005\n"
                          "2021-01-02 03:04:05 | INFO | valid | epoch 001 | valid on 'valid' subset | loss 1.25 | num_updates 100 | best_loss 1.2\n",
                          {("TRAIN", 100): {"epoch": 1, "loss": 2.5, "lr": 5e-4}, ("EVAL", 100): {"epoch": 1, "loss": 1.25, "best_loss": 1.2}}),
    "a set before a colon": ("Train Epoch: 1 [0/600 (0%)]\tLoss: 2.5\n\nTest set: Average loss: 0.5, Accuracy: 98/100 (98%)\n",
                             {("TRAIN", 0): {"epoch": 1, "Loss": 2.5}, ("PREDICT", 0): {"Average loss": 0.5, "Accuracy": 98}}),
    "batches by number": ("".join("epoch: %d, batch_id: %d, ACC:0.5, loss:%d\n" % (e, b, 9 - e) for e in (0, 1) for b in (0, 500, 1000)),
                          {("TRAIN", 1500 * e + b): {"epoch": e, "ACC": 0.5, "loss": 9 - e} for e in (0, 1) for b in (0, 500, 1000)}),
    "one of several ranks": ("".join("INFO [train.py:895] (1/4) Epoch %d, batch %d, loss[ctc_loss=%d], lr: 0.5\n" % (e, b, 9 - e) for e in (1, 2) for b in (0, 50)),
                             {("TRAIN", 100 * (e - 1) + b): {"epoch": e, "ctc_loss": 9 - e, "lr": 0.5} for e in (1, 2) for b in (0, 50)}),
    "several lines an epoch": ("".join("Epoch %d - Batch loss: %s\n" % (1 + i // 4, "nan" if i == 5 else 9 - i) + ("Epoch %d - mean loss: 1\n" % (1 + i // 4) if i % 4 == 3 else "") for i in range(8)),
                               {("TRAIN", 1 + i): {"epoch": 1 + i // 4, "Batch loss": math.nan if i == 5 else 9 - i, **({"mean loss": 1} if i % 4 == 3 else {})} for i in range(8)}),
    "losses alone": ("".join("2020-03-08 23:45:00,304:INFO: Meta loss: %g\n" % (9 - i) for i in range(9)), {("TRAIN", 1 + i): {"Meta loss": 9 - i} for i in range(9)}),
    "numbers in wrappers": ("step 1: loss tensor(2.5, device='cuda:0', grad_fn=<NllLossBackward0>)\nstep 2: loss tensor(nan)\nstep 3: loss: np.float64(0.5)\n",
                            {("TRAIN", 1): {"loss": 2.5}, ("TRAIN", 2): {"loss": math.nan}, ("TRAIN", 3): {"loss": 0.5}}),
    "what it was before": ("Step 50/100; acc: 12.0; xent: 3.5\nModel is improving ppl: inf --> 5.4.\nModel is improving acc: 5.5 --> 2.5.\n", {("TRAIN", 50): {"acc": 12, "xent": 3.5}}),
    "counted in front": ("".join("[gpu01:0/2] %depoch:train:%d-%dbatch: loss=%d\n" % (e, b - 49, b, 9 - e) for e in (1, 2) for b in (50, 100)),
                         {("TRAIN", 100 * (e - 1) + b): {"epoch": e, "loss": 9 - e} for e in (1, 2) for b in (50, 100)}),
    "iterations of epochs": ("".join("(epoch: 1, iters: %d, time: 0.5, data: 0.25) D_A: 0.5 cycle_A: 2\n" % i for i in (100, 200)),
                             {("TRAIN", i): {"epoch": 1, "time": 0.5, "data": 0.25, "D_A": 0.5, "cycle_A": 2} for i in (100, 200)}),
    "lists of steps": ("".join('DLLL {"timestamp": "1620000000.1", "type": "LOG", "step": [0, %d], "data": {"train_loss": 2.5}}\n' % i for i in (0, 50)), {("TRAIN", i): {"timestamp": 1620000000.1, "train_loss": 2.5} for i in (0, 50)}),
    "a size beside a bar": ("".join("[%06d/50000] X4K    | loss 0.5 | GPU 92%% | batch 16\n" % i for i in (0, 500)), {("TRAIN", i): {"loss": 0.5, "batch": 16} for i in (0, 500)}),
    "counters of epochs": ("".join("epoch=%d i=%d/2 total_loss=%d\n" % (e, i, 9 - e) for e in (0, 1) for i in (0, 1)), {("TRAIN", 2 * e + i): {"epoch": e, "total_loss": 9 - e} for e in (0, 1) for i in (0, 1)}),
    "batches of epochs": ("".join("INFO:root:Epoch[%d] Batch [%d]\tSpeed: 36.5 samples/sec\tTrain-Acc=0.5\n" % (e, b) for e in (0, 1) for b in (20, 40)),
                          {("TRAIN", 40 * e + b): {"epoch": e, "Speed": 36.5, "Train-Acc": 0.5} for e in (0, 1) for b in (20, 40)}),
    "losses in short": ("     Epoch   gpu_mem       box       obj       cls     total    labels  img_size\n       0/99     1.75G    0.125     0.25   0.5    0.875        16       640: 100%|###| 37/37 [00:12<00:00]\n",
                        {("TRAIN", 0): {"box_loss": 0.125, "obj_loss": 0.25, "cls_loss": 0.5, "total_loss": 0.875, "labels": 16, "img_size": 640}}),
    "modes in parentheses": ("".join("%d/9 * Epoch %d (_base): lr=0.5\n%d/9 * Epoch %d (train): loss=%d\n%d/9 * Epoch %d (valid): loss=%d\n" % (e, e, e, e, 9 - e, e, e, 20 - e) for e in (1, 2)),
                             {(m, e): v for e in (1, 2) for m, v in (("TRAIN", {"epoch": e, "lr": 0.5, "loss": 9 - e}), ("EVAL", {"epoch": e, "loss": 20 - e}))}),
    "ranks beside a level": ("".join("10/17/2025 16:31:5%d [INFO|DP=0|PP=1|TP=2]: iteration: %d / 99 | lm_loss: %d\n" % (i, i, 9 - i) for i in (1, 2)), {("TRAIN", i): {"lm_loss": 9 - i} for i in (1, 2)}),
    "iterations within epochs": ("".join("Training epoch %d, iteration %d/1 | lr: 0.5 | global_step: %d | reduced_train_loss: %d | val_loss: 7\n" % (e, i, 2 * e + i, 9 - e) for e in (0, 1) for i in (0, 1)),
                                 {(m, 2 * e + i): v for e in (0, 1) for i in (0, 1) for m, v in (("TRAIN", {"epoch": e, "iteration": i, "lr": 0.5, "reduced_train_loss": 9 - e}), ("EVAL", {"val_loss": 7}))}),
    "result.json": ("".join('{"training_iteration": %d, "timesteps_total": %d, "info": {"learner": {"total_loss": %d}}, "done": false}\n' % (i, 4000 * i, 9 - i) for i in (1, 2)),
                    {("TRAIN", 4000 * i): {"training_iteration": i, "info.learner.total_loss": 9 - i} for i in (1, 2)}),
    "results.txt": ("".join("%10s%10s%10.4g%10.4g%10.4g%10.4g%10d%10d%10.4g%10.4g%10.4g%10.4g%10.4g%10.4g%10.4g\n" % ("%d/9" % i, "3.2G", 0.5, 0.25, 0.125, 0.875, 12, 640, 0.5, 0.5, 0.25, 0.25, 1, 2, 3) for i in range(2)),
                    {(m, i): v for i in range(2) for m, v in (("EVAL", {"val/box_loss": 1, "val/obj_loss": 2, "val/cls_loss": 3}),
                                                              ("TRAIN", {"train/box_loss": 0.5, "train/obj_loss": 0.25, "train/cls_loss": 0.125, "train/total_loss": 0.875, "labels": 12, "img_size": 640,
                                                                         "metrics/precision": 0.5, "metrics/recall": 0.5, "metrics/mAP_0.5": 0.25, "metrics/mAP_0.5-0.95": 0.25}))}),
    "epochs.jsonl": ("".join('{"train_loss": %d, "test_loss": 3, "epoch": %d}\n' % (9 - e, e) for e in (0, 1, 2)),
                     {(m, e): v for e in (0, 1, 2) for m, v in (("TRAIN", {"train_loss": 9 - e}), ("PREDICT", {"test_loss": 3}))}),
    "evaluations.jsonl": ("".join('{"clip_val_loss": %d, "epoch": %d}\n' % (9 - e, e) for e in (1, 2)), {("EVAL", e): {"clip_val_loss": 9 - e} for e in (1, 2)}),
    "outputs.jsonl": ("".join('{"step": %d, "loss": %d, "output": "a text"}\n' % (i, 9 - i) for i in (1, 2)), {("TRAIN", i): {"loss": 9 - i} for i in (1, 2)}),
    "scalars.json": ("".join('{"iter": %d, "step": %d, "loss": 0.5, "time": 2}\n{"accuracy/top1": 0.25, "time": 1, "step": %d}\n' % (70 * e, 70 * e, e if e < 8 else 600) for e in range(1, 9)),
                     {**{("TRAIN", 70 * e): {"step": 70 * e, "loss": 0.5, "time": 2} for e in range(1, 9)},
                      **{("EVAL", 70 * e if e < 8 else 600): {"accuracy/top1": 0.25, "time": 1} for e in range(1, 9)}}),
    "an iteration that is an epoch": ("".join("- INFO - iteration:%d step:%d/100, loss:%d\n" % (i, s, 90 - 10 * i - s // 10) for i in (1, 2, 3) for s in (20 + i, 60 + i)) + "- INFO - iteration:3 step:50/100, loss:5\n- INFO - iteration:2 step:90/100, loss:4\n",
                                      {("TRAIN", s): {"epoch": i, "loss": v} for i, s, v in ((1, 21, 78), (1, 61, 74), (2, 122, 68), (2, 162, 64), (2, 190, 4))}),
    "epochs that go on within": ("".join("Epoch [%d/9], Step [%d/100], Loss: %d\n" % (e, s, 90 - 10 * e - s // 50) for e in (1, 2, 3) for s in (50, 100)) + "Epoch [3/9], Step [50/100], Loss: 7\nEpoch [3/9], Step [100/100], Loss: 6\n",
                                 {("TRAIN", 100 * (e - 1) + s): {"epoch": e, "Loss": v} for e, s, v in ((1, 50, 79), (1, 100, 78), (2, 50, 69), (2, 100, 68), (3, 50, 7), (3, 100, 6))}),
    "a training after its validation": ("".join("INFO: Epoch %d/9\nINFO: - Train metrics: accuracy: 0.%d ; loss: %d\nINFO: - Eval metrics: accuracy: 0.5 ; loss: %d\n" % (e, e, 9 - e, 20 - e) for e in (1, 2, 3)),
                                        {(m, e): v for e in (1, 2, 3) for m, v in (("TRAIN", {"accuracy": e / 10, "loss": 9 - e}), ("EVAL", {"accuracy": 0.5, "loss": 20 - e}))}),
    "lines below their epoch": ("".join("Epoch %d\nloss: %d\nvalidation loss: %d\ntraining accuracy: 0.5\n" % (e, 9 - e, 20 - e) for e in (1, 2, 3)),
                                {(m, e): v for e in (1, 2, 3) for m, v in (("TRAIN", {"loss": 9 - e, "training accuracy": 0.5}), ("EVAL", {"validation loss": 20 - e}))}),
    "outputs of nets": ("".join("I0411 solver.cpp:337] Iteration %d, Testing net (#0)\nI0411 solver.cpp:404]     Test net output #0: accuracy = 0.%d\nI0411 solver.cpp:404]     Test net output #1: loss = %d (* 1 = %d loss)\n"
                                "I0411 solver.cpp:228] Iteration %d, loss = %d\nI0411 solver.cpp:244]     Train net output #0: loss = %d (* 1 = %d loss)\n" % (i, i, 20 - i, 20 - i, i, 9 - i, 9 - i, 9 - i) for i in (0, 1, 2)),
                        {(m, i): v for i in (0, 1, 2) for m, v in (("TRAIN", {"loss": 9 - i}), ("PREDICT", {"accuracy": i / 10, "loss": 20 - i}))}),
    "metrics.json": ('{"iteration": 19, "loss": 2.5, "lr": 0.5}\n{"iteration": 39, "loss": 2.25, "lr": 0.5}\n{"iteration": 40, "bbox/AP": 12.5, "bbox/AP-a": 7}\n',
                     {("TRAIN", 19): {"loss": 2.5, "lr": 0.5}, ("TRAIN", 39): {"loss": 2.25, "lr": 0.5}, ("TRAIN", 40): {"bbox/AP": 12.5, "bbox/AP-a": 7}}),
    "epochs begun anew.jsonl": ("".join('{"train_loss": %d, "epoch": %d}\n' % (v, e) for v, e in ((9, 0), (8, 1), (7, 2), (6, 1), (5, 2), (4, 3))),
                                {("TRAIN", e): {"train_loss": v} for v, e in ((9, 0), (6, 1), (5, 2), (4, 3))}),
    "run.log.json": ('{"env_info": "step: 7 loss: 1", "seed": null}\n{"mode": "train", "epoch": 1, "iter": 50, "loss": 2.5, "parts": {"a": 1.5}}\n{"mode": "val", "epoch": 1, "iter": 50, "acc": 0.5}\n',
                     {("TRAIN", 50): {"epoch": 1, "loss": 2.5, "parts.a": 1.5}, ("EVAL", 50): {"epoch": 1, "acc": 0.5}}),
    "history.jsonl": ('{"step": 1, "loss": 2.5, "note": "step: 9 loss: 7", "done": true}\nstep: 5 loss: 3\n{"step": 2, "loss": 2.25}\n', {("TRAIN", 1): {"loss": 2.5}, ("TRAIN", 2): {"loss": 2.25}}),
    "places in programs": ("".join("2021-11-11 00:01:30.834 | INFO     | __main__:%s - %s\n" % row for row in (("train:35", "step 1 loss: 2.5"), ("train:36", "step 1 acc: 0.5"), ("train:35", "step 2 loss: 2.25"))),
                           {("TRAIN", 1): {"loss": 2.5, "acc": 0.5}, ("TRAIN", 2): {"loss": 2.25}}),
    "capitals within names": ("".join("2026-05-08 22:49:56 | INFO | Epoch [00%d/30] TrainLoss=%g TrainAcc=48.5%% | ValLoss=%g testAcc=60.5%% | LR=1.00e-04 | Time=480.3s\n" % (e, 3 - e, 4 - e) for e in (1, 2)),
                              {k: v for e in (1, 2) for k, v in {("TRAIN", e): {"TrainLoss": 3 - e, "TrainAcc": 48.5, "LR": 1e-4, "Time": 480.3}, ("EVAL", e): {"ValLoss": 4 - e}, ("PREDICT", e): {"testAcc": 60.5}}.items()}),
    "bars within numbers": ("".join("[fold_0] %03d/200: %3d%%|%s| %d/4 [00:1%d<00:00, 2.98s/it, loss=%g]\n" % (e, 25 * b, "#" * b, b, b, 5 - e - 0.1 * b) for e in (1, 2) for b in (2, 4)),
                            {("TRAIN", 4 * e - 4 + b): {"loss": 5 - e - 0.1 * b} for e in (1, 2) for b in (2, 4)}),
    "a bar that goes on": ("Starting training...\n\rEpoch 1:   0%|   | 0/1108 [00:00<?, ?it/s]" + "".join("\rEpoch 1:   0%%|   | %d/1108 [00:13<3:34:10, 11.61s/it, loss=%g]" % (b, 8 - b) for b in (1, 2, 4)),
                           {("TRAIN", b): {"epoch": 1, "loss": 8 - b} for b in (1, 2)}),
    "objectives": ("nnet3-train --use-gpu=yes raw.mdl\n" + "".join("LOG (nnet3-chain-train[5.2]:PrintStatsForThisPhase():nnet-training.cc:253) Average objective function for 'output%s' for minibatches %d-%d is %s over 64000 frames.\n" % row for row in (
        ("-xent", 0, 9, "-7.25"), ("", 0, 9, "-0.5 + -0.25 = -0.75"), ("-xent", 10, 19, "-7"), ("", 10, 19, "-0.5 + -0.125 = -0.625"))) +
                   "LOG (nnet3-train[5.2]:PrintTotalStats():nnet-training.cc:309) Overall average objective function for 'output' is -0.5 over 640000 frames.\n",
                   {("TRAIN", 9): {"objective function of output-xent": -7.25, "objective function of output": -0.75}, ("TRAIN", 19): {"objective function of output-xent": -7, "objective function of output": -0.625}}),
    "objectives of some minibatches": ("".join("LOG (nnet3-train[5.5]:PrintStatsForThisPhase():nnet-training.cc:270) Average objective function for 'output' using 10 minibatches in  minibatch range %d-%d is -%d.5 over 64000 frames.\n" % (10 * i, 10 * i + 9, 9 - i) for i in range(3)),
                                       {("TRAIN", 10 * i + 9): {"objective function of output": i - 9.5} for i in range(3)}),
    "steps that are finished": ("".join("INFO: Finished STEP %d/500, loss = %d.5 (0.123 sec/batch), lr: 0.5\n" % (20 * i, 9 - i) for i in (1, 2, 3)), {("TRAIN", 20 * i): {"loss": 9.5 - i, "lr": 0.5} for i in (1, 2, 3)}),
    "steps between name and value": ("".join("Train loss %d %d.125000 Grad Norm 2.500000 1.50s/it\n" % (i, 9 - i) for i in range(3)) + "Validation loss 2: 7.500000\n", {
        **{("TRAIN", i): {"Train loss": 9.125 - i, "Grad Norm": 2.5} for i in range(3)}, ("EVAL", 2): {"Validation loss": 7.5}}),
    "shares of steps": ("".join("\rsteps:  %d%%|##   | %d/80 [00:10<01:30,  1.00it/s, avr_loss=%d]" % (25 * i, 20 * i, 9 - i) for i in (1, 2, 3)) + "\n", {("TRAIN", 20 * i): {"avr_loss": 9 - i} for i in (1, 2, 3)}),
    "dictionaries over lines": ("".join("{'gradient_norm': 0.5,\n 'loss': %d,\n 'eval_loss': 7.5,\n 'step': %d}\n" % (9 - i, 10 * i) for i in (1, 2, 3)) + "I0512 10:00:00.1 7 lib.py:7] {'loss': 1,\n not of it\n{'loss': 2,\n", {
        **{("TRAIN", 10 * i): {"loss": 9 - i if i < 3 else 1, "gradient_norm": 0.5} for i in (1, 2, 3)}, **{("EVAL", 10 * i): {"eval_loss": 7.5} for i in (1, 2, 3)}}),
    "sets in capitals": ("".join("2021-05-12 10:00:00,123 epoch %d - iter 10/10 - loss %d - lr: 0.5\n2021-05-12 10:00:01,123 DEV : loss %d.5 - f1-score (micro avg)  0.5\n" % (e, 9 - e, 9 - e) for e in (1, 2)), {
        **{("TRAIN", 10 * e): {"loss": 9 - e, "lr": 0.5, "epoch": e} for e in (1, 2)}, **{("EVAL", 10 * e): {"loss": 9.5 - e} for e in (1, 2)}}),
    "batches before a comma": ("".join("epoch %d/2\n1/2, train_loss: %d\n2/2, train_loss: %d.5\nepoch %d average loss: %d\n" % (e, 9 - e, 9 - e, e, 9 - e) for e in (1, 2)), {
        ("TRAIN", 1): {"train_loss": 8}, ("TRAIN", 2): {"train_loss": 8.5, "average loss": 8}, ("TRAIN", 3): {"train_loss": 7}, ("TRAIN", 4): {"train_loss": 7.5, "average loss": 7}}),
    "batches behind their epoch": ("".join("DEBUG TRAIN Batch %d/%d loss %d lr 0.5 rank 0\n" % (i // 4, 100 * (i % 4), 9 - i) for i in range(8)) + "DEBUG CV Batch 1/0 loss 5 rank 0\n", {
        **{("TRAIN", 100 * i): {"loss": 9 - i, "lr": 0.5} for i in range(8)}, ("EVAL", 700): {"loss": 5}}),
    "numbers with a point in front": ("".join("[%d | %d.00] loss=%d.5 avg=%d\n" % (10 * i, 25 * i, 9 - i, 9 - i) for i in (1, 2, 3)), {("TRAIN", 10 * i): {"loss": 9.5 - i, "avg": 9 - i} for i in (1, 2, 3)}),
    "types of rows": ("".join('json_stats: {"_type": "train_iter", "epoch": "1/9", "iter": "%d/90", "loss": %d}\n' % (10 * i, 9 - i) for i in (1, 2)) + 'json_stats: {"_type": "val_epoch", "epoch": "1/9", "top1_err": 75.5}\n', {
        **{("TRAIN", 10 * i): {"loss": 9 - i, "epoch": 1} for i in (1, 2)}, ("EVAL", 20): {"epoch": 1, "top1_err": 75.5}}),
    "figures below their iteration": ("".join("   \x1b[1m Learning iteration %d/1500 \x1b[0m   \n\n   Computation: 50000 steps/s (collection: 0.500s, learning 0.100s)\n   Value function loss: %d.5\n   Mean reward: 1.5\n---------\n   Total timesteps: %d\n" % (i, 9 - i, 98304 * i) for i in (1, 2, 3)), {("TRAIN", i): {"Value function loss": 9.5 - i, "Mean reward": 1.5} for i in (1, 2, 3)}),
    "a test at its end": ("".join("Finished training it %d/100 of epoch 0, 10.50 ms/it, loss %d.5\n" % (10 * i, 9 - i) for i in (1, 2)) + "Testing at - 20/100 of epoch 0, loss 0.25, accuracy 78.5 %\n", {
        **{("TRAIN", 10 * i): {"loss": 9.5 - i, "of epoch": 0} for i in (1, 2)}, ("PREDICT", 20): {"loss": 0.25, "accuracy": 78.5, "of epoch": 0}}),
    "a table of losses": ("total loss\tscore loss\tctc loss\t\n" + "".join("%d.5\t0.%d\t1e-%d\t\n" % (20 - i, 9 - i, i) for i in range(9)),
                          {("TRAIN", i + 1): {"total loss": 20.5 - i, "score loss": float("0.%d" % (9 - i)), "ctc loss": float("1e-%d" % i)} for i in range(9)}),
}
NO_PRINTOUTS = ("at step 100 the loss is 2.5\n", "loss: 2.5\n", "mean loss of 3 tries, see section 4\n", "step 1: unpack the archive\nstep 2: run make\n", "torch==2.1\nlr-tools==1.0\n",
                "{'loss': 'mse', 'lr': 0.1, 'epochs': 10}\n", "7/10 [step - loss\n",
                "".join("[%d] loss: 2.5\n" % (i % 2) for i in range(8)), "[7] loss: 2\n" * 9, "".join("17956%05d loss 2.5\n" % i for i in range(9)),
                "--------\n| loss | 2.5 |\n| size | 7 |\n--------\n", "id\tmodel\tloss\n1\ta\t2.5\n", "step\tloss\n1\tn/a\n")


def printouts(w):
    """Lines of names and numbers with a step, however programs print them, and texts that are none."""
    for name, (text, expected) in PRINTED.items():
        place = w.root / "printed" / name
        logs.write(place / (name if "." in name else "train.log"), text)
        done = run([w.assay, "stats", str(place), "-o", str(w.root / "table.csv")])
        found = {}
        for row in csv.DictReader(open(w.root / "table.csv")) if done.code == 0 else ():
            found.setdefault((row["mode"], int(row["mode_step"])), {})[row["tensor"][8:]] = math.nan if row["nan"] != "0" else float(row["mean"])
        w.checks.expect(repr({k: sorted(v.items()) for k, v in sorted(found.items())}) == repr({k: sorted((a, float(b)) for a, b in v.items()) for k, v in sorted(expected.items())}),
                        "%s: %s %s" % (name, found, done.err))
    for i, text in enumerate(NO_PRINTOUTS):
        place = w.root / "printed" / str(i)
        logs.write(place / "notes.txt", text)
        done = run([w.assay, "ls", str(place)])
        w.checks.expect(done.code == 2 and "no line of it has a step and a loss" in done.err, "%r: %s" % (text, done))
    place = w.root / "printed/data"
    logs.write(place / "train.jsonl", '{"text": "step: 1 loss: 2.5"}\n' * 200 + '{"step": 1, "loss": 2.5}\n')
    done = run([w.assay, "ls", str(place)])
    w.checks.expect(done.code == 2 and "none of its first 100 lines is a JSON object with a step and a loss" in done.err, "data: %s" % done)
    place = w.root / "printed/several"
    for name in ("a.log", "b.log"):
        logs.write(place / name, "hello\n" + "".join("step: %d loss: %.2f\n" % (i, 9 - 0.1 * i) for i in range(30)))
    _, report, _ = w.run(place)
    trials = [(t["name"], t["metrics"]["kind"], t["metrics"]["counts"], t["metrics"].get("first_unknown")) for t in report["trials"]] if report else None
    w.checks.expect(trials == [(n, "printed", {"lines": 31, "unknown": 1}, "hello") for n in ("a.log", "b.log")], "two files: %s" % trials)


def encodings(w):
    """A log says the same in UTF-16 and packed by gzip, and half a character at its end is a log that grows."""
    text, table = "".join("step %d: loss %g\r\n" % (i, 9 - i) for i in range(9)), "step,loss\r\n" + "".join("%d,%g\r\n" % (i, 9 - i) for i in range(9))
    for suffix, pack in (("", lambda t: t.encode()), ("", lambda t: ("\ufeff" + t).encode()), ("", lambda t: b"\xff\xfe" + t.encode("utf-16-le")), ("", lambda t: b"\xfe\xff" + t.encode("utf-16-be")),
                         (".gz", lambda t: gzip.compress(t.encode())), (".gz", lambda t: gzip.compress(t.encode("utf-16"))), ("", lambda t: t.encode("utf-16") + b"7")):
        for name, content in (("train.log", text), ("metrics.csv", table)):
            place = w.root / "encodings" / name
            shutil.rmtree(place, ignore_errors=True)
            logs.write(place / (name + suffix), pack(content))
            for target in (place, place / (name + suffix)):
                _, report, _ = w.run(target)
                found = report and [(p["steps"], p["first"], p["last"]) for t in report["trials"] for p in t["modes"].values()]
                w.checks.expect(found == [(9, 0, 8)] and report["trials"][0]["problems"] == [], "%s, %r: %s" % (target, pack("a"), found))
    cut = gzip.compress(("step,loss\n" + "".join("%d,%g\n" % (i, math.sin(i)) for i in range(20000))).encode())
    logs.write(w.root / "encodings/cut/metrics.csv.gz", cut[:len(cut) // 2])
    done, report, _ = w.run(w.root / "encodings/cut")
    w.checks.expect(done.code == 3 and "cut short" in report["trials"][0]["problems"][0]["text"] and report["trials"][0]["modes"]["TRAIN"]["steps"] > 1000, "a packed table that is cut: %s" % done)


def documents(w):
    """Courses that are one JSON value: histories by columns, Sacred's metrics, and lists of rows; and values that are none."""
    course = {("TRAIN", i): {"loss": 3 - i} for i in range(3)}
    for i, (text, expected) in enumerate((
            ('{"loss": [3, 2, 1], "val_loss": [6, null, 4], "layers": "x", "shape": [[1]]}', {**course, ("EVAL", 0): {"val_loss": 6}, ("EVAL", 2): {"val_loss": 4}}),
            ('{"epoch": [1, 2], "history": {"loss": [3, NaN]}, "lr": 0.5}', {("TRAIN", 1): {"history.loss": 3}, ("TRAIN", 2): {"history.loss": math.nan}}),
            ('{"train.loss": {"steps": [10, 20], "timestamps": ["a", "b"], "values": [3, 2]}}', {("TRAIN", 10): {"train.loss": 3}, ("TRAIN", 20): {"train.loss": 2}}),
            ('[{"epoch": 0, "loss": 3},\n {"epoch": 1, "loss": 2},\n {"epoch": 2, "loss": 1}]', course),
            ('[{"step": 0, "loss": 3}, 7, {"step": 1, "loss": 2}, {"step": 2, "loss": 1}]', course),
            ('{"loss": {"0": 3, "1": 2, "2": 1}, "val_loss": {"0": 6, "1": null, "2": 4}}', {**course, ("EVAL", 0): {"val_loss": 6}, ("EVAL", 2): {"val_loss": 4}}),
            ('{"train_losses": [3, 2, 1], "config": {"dims": [64]}}', {**{("TRAIN", i): {"train_loss": 3 - i} for i in range(1, 3)}, ("TRAIN", 0): {"config.dims": 64, "train_loss": 3}}),
            ('{"loss": {"0": 3, "b": 2}}', None), ("[[1.5e9, 0, 3], [1.5e9, 1, 2]]", None),
            ('{"loss": ["mse"], "epochs": 10, "layers": [1, 2, 3]}', None), ('{"loss": [3]}', None), ("[1, 2, 3]", None), ('[{"epoch": 4, "loss": 3}]', {("TRAIN", 4): {"loss": 3}}),
            ('[{"text": "a", "label": 1}, {"text": "b", "label": 0}]', None), ('{"loss": 0.5}', None))):
        file = w.root / "documents" / str(i) / "history.json"
        logs.write(file, text)
        done = run([w.assay, "stats", str(file), "-o", str(w.root / "document.csv")])
        found = {}
        for row in csv.DictReader(open(w.root / "document.csv")) if done.code == 0 else ():
            found.setdefault((row["mode"], int(row["mode_step"])), {})[row["tensor"][8:]] = math.nan if row["nan"] != "0" else float(row["mean"])
        w.checks.expect(repr(sorted(found.items())) == repr(sorted({k: {a: float(b) for a, b in v.items()} for k, v in (expected or {}).items()}.items())) and (expected is not None or done.code == 2),
                        "%s: %s %s" % (text, found, done))


def no_version(w):
    """CatBoost's event files begin with a summary, and with no version."""
    place = w.root / "no-version"
    content = b"".join(logs.frame(struct.pack("<Bd", 9, 1.0) + logs.number(2, step) + logs.data(5, logs.data(1, logs.data(1, "loss") + struct.pack("<Bf", 2 << 3 | 5, loss))))
                       for step, loss, _ in logs.curve(9))
    logs.write(place / "events.out.tfevents.1795000000.host", content)
    _, report, _ = w.run(place)
    w.checks.expect(report and report["trials"][0]["metrics"]["kind"] == "tb" and report["trials"][0]["modes"]["TRAIN"]["steps"] == 9, "no version: %s" % (report and report["trials"][0]))
    recorded = w.root / "recorded"  # event files of a recording have no version either, and tensors: they are no log, also where nothing else is there yet
    shutil.copytree(TRIALS / "ddp/events", recorded / "events")
    _, report, _ = w.run(recorded)
    w.checks.expect(report and len(report["trials"]) == 1 and "metrics" not in report["trials"][0], "a recording without its index: %s" % (report and [t["name"] for t in report["trials"]]))


def files_of_modes(w):
    """A training and its validation have a file each, or an event directory each: they are one run. So are not two seeds."""
    def table(offset, column="Logloss"):
        return "iter\t%s\n" % column + "".join("%d\t%g\n" % (i, offset - 0.5 * i) for i in range(9))
    for kind, names in (("PREDICT", ("learn_error.tsv", "test_error.tsv")), ("EVAL", ("train.tsv", "val.tsv")), ("EVAL", ("seed_1/train_loss.tsv", "seed_1/valid_loss.tsv"))):
        place = w.root / "modes" / names[0].replace("/", "_")
        for name, offset in zip(names, (9, 20)):
            logs.write(place / name, table(offset, "loss"))
        for target, prefix in ((place, ""), (place.parent / (place.name + "*"), "")):
            done = run([w.assay, "stats", str(target), "-o", str(w.root / "modes.csv")])
            rows = list(csv.DictReader(open(w.root / "modes.csv"))) if done.code == 0 else []
            found = {(r["tensor"], r["mode"], int(r["mode_step"])): float(r["mean"]) for r in rows}
            w.checks.expect(found == {("metrics/loss", m, i): v - 0.5 * i for m, v in (("TRAIN", 9), (kind, 20)) for i in range(9)}, "%s: %s %s" % (target, found, done))
    for name in ("run_1.tsv", "run_2.tsv"):
        logs.write(w.root / "modes/runs" / name, table(9))
    logs.write(w.root / "modes/alone/test_error.tsv", table(9))
    for name in ("train_a", "training_a", "val_a"):  # which one is the validation of?
        logs.write(w.root / "modes/twice" / (name + ".tsv"), table(9))
    for place, trials in (("runs", ["run_1.tsv", "run_2.tsv"]), ("alone", ["alone"]), ("twice", ["train_a.tsv", "training_a.tsv", "val_a.tsv"])):
        _, report, _ = w.run(w.root / "modes" / place)
        w.checks.expect(report and [t["name"] for t in report["trials"]] == trials, "%s: %s" % (place, report and [t["name"] for t in report["trials"]]))
    place = w.root / "modes/catboost_info"
    for name, offset in (("learn", 9), ("test", 20)):
        logs.write(place / name / "events.out.tfevents", b"".join(logs.frame(struct.pack("<Bd", 9, 1.0) + logs.number(2, i) + logs.data(5, logs.data(1, logs.data(1, "Logloss") + struct.pack("<Bf", 2 << 3 | 5, offset - i)))) for i in range(9)))
        logs.write(place / (name + "_error.tsv"), table(offset))
    _, report, _ = w.run(place)
    t = report["trials"] if report else []
    w.checks.expect(len(t) == 1 and t[0]["metrics"]["kind"] == "tb" and t[0]["modes"]["TRAIN"]["steps"] == t[0]["modes"]["PREDICT"]["steps"] == 9, "CatBoost's directory: %s" % t)


def unjudged(w):
    """What no rule of the job judges is said, by any number of ranks."""
    place = w.root / "unjudged"
    logs.write(place / "metrics.csv", "step,train_loss\n" + "".join("%d,%g\n" % (i, math.nan if i > 40 else 9 / (i + 1)) for i in range(60)))
    logs.write(place / "job.json", json.dumps({"rules": [{"rule": "LossSpike"}]}))
    bodies = [w.run(place / "metrics.csv", ranks=n, job=place / "job.json") for n in w.ranks]
    said = bodies[0][1]["verdict"]
    w.checks.expect(len({str(b[2]) for b in bodies}) == 1 and ", but 19 tensors that were read have NaN or infinities, and no rule of the job" in said, "unjudged: %s" % said)


def links_of_runs(w):
    """A link that leads out of a run's directory is that run's, whichever rank listed the others."""
    place = w.root / "links"
    for i in range(5):
        logs.write(place / ("run_%d" % i) / "metrics.csv", "step,loss\n" + "".join("%d,%g\n" % (k, 9 - k) for k in range(9)))
    logs.write(w.root / "elsewhere.txt", "x")
    (place / "run_1" / "link.txt").symlink_to(w.root / "elsewhere.txt")
    bodies = [w.run(place, ranks=n) for n in w.ranks]
    found = [t["name"] for t in bodies[0][1]["trials"] if any("link leads out" in p["text"] for p in t["problems"])]
    w.checks.expect(len({str(b[2]) for b in bodies}) == 1 and found in ([], ["run_1"]), "links in runs: %s" % found)


def parts_of_tables(w):
    """A column says of what each row is, and where a comma does not divide cells, it is a decimal one."""
    for name, text in (("split", "step,split,loss\n" + "".join("%d,train,%g\n%d,val,%g\n" % (i, 9 - i, i, 20 - i) for i in range(9))),
                       ("comma", "step;loss;val_loss\n" + "".join("%d;%d,0;%d,0\n" % (i, 9 - i, 20 - i) for i in range(9)))):
        logs.write(w.root / "parts" / name / "metrics.csv", text)
        done = run([w.assay, "stats", str(w.root / "parts" / name), "-o", str(w.root / "parts.csv")])
        rows = list(csv.DictReader(open(w.root / "parts.csv"))) if done.code == 0 else []
        found = {(r["mode"], int(r["mode_step"])): float(r["mean"]) for r in rows}
        w.checks.expect(found == {(m, i): v - i for m, v in (("TRAIN", 9), ("EVAL", 20)) for i in range(9)}, "%s: %s %s" % (name, found, done.err))


def own_steps(w):
    """A log's own steps are said, not the places of steps among those of all modes."""
    place = w.root / "own-steps"
    logs.write(place / "history.csv", "epoch,loss,val_loss\n" + "".join("%d,%g,%g\n" % (i, 3 - 0.2 * min(i, 12), 3 - 0.2 * min(i, 10)) for i in range(1, 41)))
    _, report, text = w.run(place)
    w.checks.expect(report and "at TRAIN step 32 (Overtraining)" in report["verdict"], "own steps: %s" % (report and report["verdict"]))
    w.checks.expect(report and [(m, s["first"], s["last"]) for m, s in report["trials"][0]["modes"].items()] == [("TRAIN", 1, 40), ("EVAL", 1, 40)], "first and last: %s" % report["trials"][0]["modes"])


def tables_end(w):
    """Below a table other numbers stand, too, and lines between its rows are what they are without it: no value goes over to another."""
    rows = ["%d %.2f %.2f 00:12" % (i, 3 - 0.1 * i, 0.5 + 0.01 * i) for i in range(20)]
    lines = ["step %d loss %.2f" % (10 * i, 5 - 0.1 * i) for i in range(40)]
    matrix = ["%d %d %d %d" % (50 + i, i, 2, 700) for i in range(4)]
    both = [line for i in range(20) for line in (lines[2 * i], lines[2 * i + 1], rows[i])]
    for name, text, expected in (("matrix", ["epoch val_loss acc time"] + rows + matrix, {"val_loss": 20, "acc": 20}),
                                 ("pairs", ["step loss"] + ["%d %.2f" % (i, 5 - 0.1 * i) for i in range(30)] + ["%d %d" % (i, 20 + i) for i in range(8)], {"loss": 30}),
                                 ("between", ["epoch val_loss acc time"] + both, {"val_loss": 20, "acc": 20, "loss": 40})):
        place = w.root / "ends" / name
        logs.write(place / "train.log", "\n".join(text) + "\n")
        done = run([w.assay, "stats", str(place), "-o", str(w.root / "ends.csv")])
        found = {}
        for row in csv.DictReader(open(w.root / "ends.csv")) if done.code == 0 else ():
            found[row["tensor"][8:]] = found.get(row["tensor"][8:], 0) + 1
        w.checks.expect(found == expected, "a table with %s: %s %s" % (name, found, done.err))


def counted(w):
    """The first line says that rows were counted, with a finding too."""
    for name, losses, found in (("well", [3 - 0.05 * i for i in range(50)], False), ("nan", [3 - 0.05 * i if i < 30 else math.nan for i in range(50)], True)):
        place = w.root / "counted" / name
        logs.write(place / "history.csv", "loss,accuracy\n" + "".join("%g,%g\n" % (loss, 0.01 * i) for i, loss in enumerate(losses)))
        _, report, _ = w.run(place)
        w.checks.expect(report and "rows without a step were counted" in report["verdict"] and ("NaN" in report["verdict"]) == found, "%s: %s" % (name, report and report["verdict"]))


def no_courses(w):
    """Numbers in front that are places of a list, ranks, settings; and objects that are samples."""
    grid = ["%g,%g,%.2f" % (10.0 ** -i, 0.1 * i, 1 + i) for i in range(12)]
    episodes = ['{"episode": %d, "step": %d, "reward": 1}' % (e, s) for e in range(30) for s in range(12)]
    samples = ['{"id": "a%d", "text": "x", "epoch": 1, "loss": 0.7}' % i for i in range(40)]
    for name, lines in (("sweep.txt", ["%d. lr=%g loss=%.2f" % (i + 1, 10.0 ** (i - 5), 2 + i) for i in range(8)]),
                        ("ranks.out", ["%d: final loss = %.2f" % (i, 2 + 0.1 * i) for i in range(8)]),
                        ("other.out", ["[%d] final loss = %.2f" % (i, 2 + 0.1 * i) for i in range(8)]),
                        ("grid.csv", ["lr,weight_decay,loss"] + grid), ("data.jsonl", samples), ("games.jsonl", episodes)):
        place = w.root / "no-course" / name
        logs.write(place / name, "\n".join(lines) + "\n")
        done = run([w.assay, "run", str(place), "--out", str(w.root / "no-course-out")])
        w.checks.expect(done.code == 2 and "not a trial" in done.err, "%s is no log: %s" % (name, done))


def one_series(w):
    """A file a series, as DVCLive and TensorBoard's pages write them, is one run, of JSON a run each; what stands beside the values is none."""
    def rows(head, scale):
        return head + "\n" + "".join("\t".join(["17"] * (head.count("\t") - 1) + ["%d" % i, "%g" % (scale * (9 - i))]) + "\n" for i in range(9))
    for place, folder in (("live", "plots/metrics"), ("live-before", "scalars"), ("live-two/a", "plots/metrics"), ("live-two/b", "plots/metrics")):
        for name, scale in (("epoch", 1), ("train/loss", 2), ("val/loss", 3)):
            logs.write(w.root / place / folder / (name + ".tsv"), rows(("timestamp\t" if folder == "scalars" else "") + "step\t" + name.rpartition("/")[2], scale))
        logs.write(w.root / place / "metrics.json", '{"epoch": 8, "train": {"loss": 2}}')
    for run_of, tag, scale in (("a", "epoch", 1), ("a", "loss", 2), ("b", "loss", 2), ("b", "val_loss", 3)):
        logs.write(w.root / "exports" / ("run-%s-tag-%s.csv" % (run_of, tag)), rows("Wall time\tStep\tValue", scale).replace("\t", ","))
    for tag, scale in (("loss", 2), ("Acc", 3)):
        logs.write(w.root / "exports-json" / ("run-a-tag-%s.json" % tag), str([[1.5e9 + i, i, scale * (9 - i)] for i in range(9)]))
    for place, expected in (("exports-json", [{"Acc": 27}, {"loss": 18}]), ("exports-json/run-a-tag-Acc.json", [{"Acc": 27}]), ("live", [{"epoch": 9, "train/loss": 18, "val/loss": 27}]), ("live-before", [{"epoch": 9, "train/loss": 18, "val/loss": 27}]),
                            ("live-two", 2 * [{"epoch": 9, "train/loss": 18, "val/loss": 27}]), ("exports", [{"epoch": 9, "loss": 18}, {"loss": 18, "val_loss": 27}]),
                            ("exports/run-b-tag-val_loss.csv", [{"val_loss": 27}])):
        bodies = [w.run(w.root / place, ranks=n) for n in w.ranks]
        report = bodies[0][1]
        w.checks.expect(len({b[2] for b in bodies}) == 1 and report and len(report["trials"]) == len(expected), "%s: %s" % (place, bodies[0][0]))
        names = [t["name"] for t in report["trials"]] if report else []
        for name, values in zip(names, expected):
            given = w.root / place if len(names) == 1 else w.root / place / name
            run([w.assay, "stats", str(given), "-o", str(w.root / "series.csv"), "--overwrite"])
            found = {r["tensor"][8:]: float(r["mean"]) for r in csv.DictReader(open(w.root / "series.csv")) if r["mode_step"] == "0"}
            w.checks.expect(found == values, "%s of %s: %s" % (name, place, found))


def cut_documents(w):
    """A JSON text that a full disk cut is judged on what stands before, and named; so is a trainer's state that has no older one."""
    entries = ['{"epoch": %d, "loss": %g, "step": %d}' % (i, 9 - 0.2 * i, 10 * i) for i in range(40)]
    columns = '{"loss": [%s], "val_loss": [%s]}' % (", ".join("%g" % (9 - 0.2 * i) for i in range(40)), ", ".join("9" for i in range(40)))
    state = '{"epoch": 3.0, "log_history": [%s], "max_steps": 400}' % ", ".join(entries)
    listed = "[%s]" % ", ".join(entries)
    for name, text, steps in (("history.json", columns[:-30], 40), ("course.json", listed[:listed.index('"step": 300') + 4], 30), ("trainer_state.json", state[:state.index('"step": 300') + 4], 30),
                              ("trainer_state.json", state[:-3], 40), ("trainer_state.json", state[:12], 0)):
        given = w.root / "cut-json" / name
        logs.write(given, text)
        bodies = [w.run(given, ranks=n) for n in w.ranks]
        done, report, _ = bodies[0]
        w.checks.expect(len({b[2] for b in bodies}) == 1 and done.code == 3 and report and report["trials"][0]["problems"] and "damaged or missing" in report["verdict"] and
                        sum(m["steps"] for k, m in report["trials"][0]["modes"].items() if k == "TRAIN") == steps, "%s, cut behind %d bytes: %s" % (name, len(text), done))
    logs.write(w.root / "only-json/training_history.json", columns)
    logs.write(w.root / "only-json/config.json", '{"lr": 0.1}')
    done, report, _ = w.run(w.root / "only-json")
    w.checks.expect(done.code == 0 and report and report["trials"][0]["modes"]["TRAIN"]["steps"] == 40, "a directory with a document alone: %s" % done)
    logs.write(w.root / "cut-json/history.json", columns[:40])
    done = run([w.assay, "run", str(w.root / "cut-json/history.json")])
    w.checks.expect(done.code == 2 and "damaged or cut off" in done.err, "cut before any course: %s" % done)


def ends_of_jobs(w):
    """How a job ended may stand in what it printed, and in no table or document."""
    rows = ["%d,%g" % (i, 9 - 0.2 * i) for i in range(40)]
    for name, lines, said in (("train.log", ["step %s loss %s" % tuple(r.split(",")) for r in rows], True), ("history.json", ['{"loss": [%s]}' % ", ".join(r.split(",")[1] for r in rows)], False),
                              ("log.jsonl", ['{"step": %s, "loss": %s}' % tuple(r.split(",")) for r in rows], False), ("metrics.csv", ["step,loss"] + rows, False)):
        logs.write(w.root / "ends-of-jobs" / name, "\n".join(lines) + "\n")
        done = run([w.assay, "run", str(w.root / "ends-of-jobs" / name), "--out", str(w.root / "ends-of-jobs-out"), "--overwrite"])
        w.checks.expect(done.code == 0 and ("how the job ended is not judged here" in done.out) == said, "%s: %s" % (name, done))


def oddities(w):
    """CR CR LF of Windows, a monitor's remark behind a blank and its wrappers' columns, holes in UTF-16, means of objects, batches that count anew in each epoch, steps that are
    rounded to three digits, rows of JSON in a text, and numbers without names in a file that is called after a loss."""
    wrapped = '#{"t_start": 1.5, "env_id": null}\nr,l,t,moves\n' + "".join('%d.5,20,%d.25,"[\'a\', \'b\']"\n' % (i, i) for i in range(20))
    batches = "Epoch,Batch,Gen Loss\n" + "".join("%d,%d,%g\n" % (e, b, 9 - e - 0.1 * b) for e in range(4) for b in range(5))
    anew = "epoch,step,loss\n" + "".join("%d,%d,%g\n" % (e, b, 9 - e - 0.1 * b) for e in range(4) for b in range(1, 6))
    boxes = "".join("-------\n| loss | %g |\n| step | %s |\n-------\n" % (9 - 0.1 * i, ("%.3g" % (9900 + 10 * i))) for i in range(40))
    rows = "".join('{"train_lr": 0.1, "train_loss": %g, "test_class_error": 5, "test_boxes": [1, 2], "epoch": %d}\n' % (9 - 0.1 * i, i) for i in range(20))
    bare = "".join('{"train_lr": 0.1, "train_loss": %g, "n_parameters": 7}\n' % (9 - 0.1 * i) for i in range(20))
    monitor = '# {"t_start": 1713454733.7, "env_id": null} \r\n' + "r,l,t\r\r\n" + "".join("%d.5,200,%d.25\r\r\n" % (-i, i) for i in range(20))
    means = "".join('{"Loss/G/loss": {"num": 32, "mean": %g, "std": 0.5}, "Progress/tick": {"num": 1, "mean": %d.0, "std": 0.0}}\n' % (5 - 0.25 * i, i) for i in range(9))
    hole = ("step,loss\n" + "".join("%d,%g\n" % (i, 9 - i) for i in range(9))).encode("utf-16")
    for name, content, code, steps, tags in (("monitor.csv", monitor, 0, 20, {"r", "l", "t"}), ("stats.jsonl", means, 0, 9, {"Loss/G/loss"}), ("wrapped/monitor.csv", wrapped, 0, 20, {"r", "l", "t"}), ("batches.csv", batches, 0, 20, {"Epoch", "Gen Loss"}),
                                             ("anew.csv", anew, 0, 20, {"epoch", "loss"}), ("boxes.txt", boxes, 0, 40, {"loss"}), ("log.txt", rows, 0, 20, {"train_lr", "train_loss", "test_class_error"}),
                                             ("bare/log.txt", bare, 0, 20, {"train_lr", "train_loss", "n_parameters"}), ("loss.csv", "".join("%d.5e-01\n" % (9 - i) for i in range(9)), 0, 9, {"loss"}), ("train_loss.csv", "".join("%d,%g\n" % (10 * i, 9 - i) for i in range(9)), 0, 9, {"train_loss"}),
                                             ("tags.log", "".join("<epoch:%d, lr:1.000e-04> loss: %g \n" % (i, 9 - i) for i in range(9)), 0, 9, {"lr", "loss"}), ("loss.txt", "".join("%d %g\n" % (i, 9 - i) for i in range(9)), 0, 9, {"loss"}), ("metrics.csv", hole[:40] + bytes(512) + hole[40:], 3, 9, {"loss"})):
        logs.write(w.root / "oddities" / name, content)
        done, report, _ = w.run(w.root / "oddities" / name)
        run([w.assay, "stats", str(w.root / "oddities" / name), "-o", str(w.root / "oddities.csv"), "--overwrite"])
        found = {r["tensor"][8:] for r in csv.DictReader(open(w.root / "oddities.csv"))}
        w.checks.expect(done.code == code and report and report["trials"][0]["modes"]["TRAIN"]["steps"] <= steps <= report["trials"][0]["modes"]["TRAIN"]["steps"] + (code == 3) and found == tags,
                        "%s: %s %s" % (name, done, found))
    logs.write(w.root / "oddities/best.log", "".join("epoch %d loss: %g best_loss: %s\n" % (i, 9 - 0.1 * i, 9.1 - 0.1 * i if i else "inf") for i in range(40)))
    done, report, _ = w.run(w.root / "oddities/best.log")
    w.checks.expect(done.code == 0 and report and report["verdict"].startswith("nothing wrong in 1 loss over 40 steps; metrics/best_loss is not finite"), "the best so far: %s" % done)


def gaps(w):
    """Steps whose losses differ from those of the step before, in which there are, in their modes and in what numbers cannot be squared: each
    is tested, as the table has them. Also with a rule of some of the steps, and one that looks at others than the rest do."""
    names, rows = ("train/loss", "train/aux_loss", "val/loss"), []
    for step in range(700):
        row = [4 + math.sin(step * 0.7), 3 + math.cos(step * 0.3), 5 + math.sin(step * 0.1) if step % 4 == 3 else None]
        row[1] = row[1] if step % 7 or step > 400 else None
        row[0] = {100: math.nan, 200: math.inf, 300: -1e200, 301: 0.0, 302: -0.0}.get(step, row[0]) if step % 50 != 49 else None
        rows.append((step, *row))
    place = w.root / "gaps" / "metrics.csv"
    logs.write(place, "step,%s\n" % ",".join(names) + "".join("%d,%s\n" % (step, ",".join("" if v is None else repr(v) for v in row)) for step, *row in rows))
    job = w.root / "gaps.json"
    high, late = "mean(losses) > 4.5", "mean(/aux_loss/) > 3"
    job.write_text(json.dumps({"rules": [{"name": "high", "when": high}, {"name": "late", "when": late, "start_step": 150, "end_step": 333},
                                         {"rule": "ExplodingTensor"}, {"rule": "LossNotDecreasing"}]}))
    pairs = sorted({(s, k) for s, *row in rows for k, v in enumerate((any(v is not None for v in row[:2]), row[2] is not None)) if v})
    order = {s: i for i, (s, k) in enumerate(pairs) if k == 0}  # start_step counts all steps of the trial
    taken = {"high": [(s, n, v) for s, *row in rows for n, v in zip(names, row) if v is not None],
             "late": [(s, names[1], row[1]) for s, *row in rows if row[1] is not None and 150 <= order[s] < 333]}
    expected = {"high": sorted((s, "metrics/" + n) for s, n, v in taken["high"] if v > 4.5),
                "late": sorted((s, "metrics/" + n) for s, n, v in taken["late"] if v > 3)}
    got = [w.run(place, ranks=n, job=job) for n in w.ranks]
    w.checks.expect(len({g[2] for g in got}) == 1, "gaps: another report at %s ranks" % w.ranks)
    for rule in got[0][1]["trials"][0]["rules"] if got[0][1] else []:
        name = rule["name"]
        if name in expected:
            found = sorted((f["mode_step"] if "mode_step" in f else f["step"], f["tensor"]) for f in rule["findings"])
            w.checks.expect(found == expected[name] and rule["datapoints"] == len(taken[name]),
                            "gaps, %s: %d findings and %s datapoints in place of %d and %d: %s" % (name, len(found), rule["datapoints"], len(expected[name]), len(taken[name]), list(set(found) ^ set(expected[name]))[:4]))
    w.checks.expect(got[0][1] is not None and [r["findings_total"] for r in got[0][1]["trials"][0]["rules"] if r["name"] == "ExplodingTensor"] == [2], "gaps: %s" % got[0][0])


def registered(w):
    """A version of a registered model names the run that it comes from, and lies in no place of a run."""
    place = w.root / "registered"
    logs.mlflow(place, logs.curve(20), "%032x" % 7)
    logs.write(place / "mlruns/models/net/meta.yaml", "creation_timestamp: 1\nname: net\n")
    logs.write(place / "mlruns/models/net/version-1/meta.yaml", "name: net\nrun_id: %032x\nsource: x\nstatus: READY\nversion: 1\n" % 7)
    _, report, _ = w.run(place)
    trials = [(t["name"], t["problems"], t["metrics"]["counts"]) for t in report["trials"]] if report else None
    w.checks.expect(trials == [("registered", [], {"lines": 24})], "a registered model: %s" % trials)


def rows_of_runs(w):
    """A table with the rows of several runs, and a column that says which; where each run goes on behind the one before, or nothing begins
    again, it is one."""
    loss = lambda run, step: 1 + 6 * math.exp(-0.1 * step * (run + 1))  # noqa: E731
    rows = [(run, step, math.nan if run == 2 and step > 30 else loss(run, step)) for run in range(3) for step in range(40)]
    mixed = sorted(rows, key=lambda row: row[1])
    names = ["r0", "r1", "r2"]
    for name, text, expected in (
            ("below", "run_id,step,loss\n" + "".join("r%d,%d,%r\n" % row for row in rows), names),
            ("mixed", "epoch,seed,loss\n" + "".join("%d,%d,%r\n" % (step, run, value) for run, step, value in mixed), ["seed 0", "seed 1", "seed 2"]),
            ("quoted", 'run,step,loss\n' + "".join('"lr=0.1, r%d",%d,%r\n' % row for row in rows), ["lr=0.1, " + n for n in names]),
            ("goes on", "run_id,step,loss\n" + "".join("%s,%d,%r\n" % ("a" if step < 30 else "b", step, loss(0, step)) for step in range(50)), ["goes on"]),
            ("counts", "trial,step,loss\n" + "".join("%d,%d,%r\n" % (step, step, loss(0, step)) for step in range(50)), ["counts"])):
        place = w.root / "rows-of-runs" / name
        logs.write(place / "all.csv", text)
        got = [w.run(place, ranks=n) for n in w.ranks]
        report = got[0][1]
        trials = [t["name"] for t in report["trials"]] if report else str(got[0][0])
        w.checks.expect(trials == expected and len({g[2] for g in got}) == 1, "rows of runs, %s: %s" % (name, trials))
        if len(expected) > 1 and report:
            found = [[m["steps"] for m in t["modes"].values()] + [t["metrics"]["counts"].get("rows"), sorted(w.fired(report, i))] for i, t in enumerate(report["trials"])]
            w.checks.expect(found == [[40, 40, []], [40, 40, []], [40, 40, ["ExplodingTensor"]]], "rows of runs, %s: %s" % (name, found))
            done, one, _ = w.run("%s/%s" % (place, expected[2]))
            w.checks.expect(one and w.fired(one) == {"ExplodingTensor"}, "rows of the run %s: %s" % (expected[2], done))
    place = w.root / "rows-of-runs/two"
    for name in ("a", "b"):
        logs.write(place / (name + ".csv"), "run_id,step,loss\n" + "".join("r%d,%d,%r\n" % row for row in rows[:80]))
    report = w.run(place)[1]
    trials = [t["name"] for t in report["trials"]] if report else None
    w.checks.expect(trials == ["a/r0", "a/r1", "b/r0", "b/r1"], "rows of runs of two tables: %s" % trials)
    logs.write(place / "b.csv", "run_id,step,loss\n" + "".join("r%d,%d,%r\n" % (run, step, loss(0, step)) for run in range(1100) for step in range(2)))
    (place / "a.csv").unlink()
    report = w.run(place)[1]
    w.checks.expect(report and len(report["trials"]) == 1 and "names more than 1024 runs" in str(report["trials"][0]["problems"]), "too many runs: %s" % (report and report["trials"][0]["problems"]))
