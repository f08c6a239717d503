// Package tf has TensorFlow's own words: job names, task indices, ClusterSpec and TF_CONFIG.
//
// It is pure: values in, values out. The rules come from TensorFlow 2.21's
// tensorflow/python/distribute/multi_worker_util.py, cluster_resolver/tfconfig_cluster_resolver.py
// and training/server_lib.py, and each was tried against them; integration/tensorflow has that test.
package tf
