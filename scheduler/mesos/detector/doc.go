// Package detector finds the leading Mesos master where masters elect it: in ZooKeeper.
//
// Each master that runs has a node under one path, json.info_ and a sequence number, which vanishes with the master's session. The
// lowest number leads. Follow lists the nodes, watches them, and tells who leads, until it is told to end; what goes wrong on
// the way is told and tried again. It opens a session of its own after each trouble, so nothing hangs on what the library makes
// of an old one.
//
// Credentials of ZooKeeper are in no error, log record or text of this package.
package detector
