"""What moves in the cluster: controllers of workloads, a scheduler, a kubelet.

All of it works on the `Cluster`'s Python face and knows no loop: `step()` brings everything up to the present
time of the lab clock. `workloads.Workloads` calls the reconcilers of `deployments`, `replica_sets` and
`stateful_sets` for what has changed; `rollout` holds their arithmetic as pure functions; `kubelet.Kubelet` runs
pods, `scheduler` places them, `pod_status` writes down how they are; `recorder` posts Events.
"""
