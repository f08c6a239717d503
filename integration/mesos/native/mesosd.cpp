// mesosd runs a Mesos master or a Mesos agent out of the one shared library that has all of Apache Mesos 1.11.0.
//
//   mesosd master WORK_DIR [zk SERVERS QUORUM]
//   mesosd agent  WORK_DIR MASTER_IP MASTER_PORT
//   mesosd agent  WORK_DIR zk SERVERS
//
// The flags of mesos-master and mesos-agent are read from MESOS_* variables, address and port from LIBPROCESS_IP and
// LIBPROCESS_PORT. The libraries are looked for in lib/ beside this program.
//
// How it works. The library is a Python 2 module that was linked against the whole of libmesos, so the classes of master
// and agent are in it, but no main program and no header are at hand. mesosd calls mesos::internal::local::launch (the
// "cluster in one process" of Mesos) by its mangled name:
//
//   - A master is that cluster with no agents.
//   - An agent is that cluster with one agent. Its in-process master is told, as its agent is, that somebody else leads:
//     both learn the leader from one StandaloneMasterDetector, by the call appoint(leader). The machine code at the entry
//     of appoint is overwritten with a jump into this file before any thread runs, which puts the wanted master in place of
//     the in-process one.
//   - With ZooKeeper nothing is appointed. Masters and agents get Mesos' own detector, contender and replicated log of ZooKeeper
//     where the in-process cluster builds those that stand alone: the entries of those functions jump here (electIn).
//
// An agent of the field learns through ZooKeeper that its master is gone, or that there is one again. Without ZooKeeper, a connection
// held to the master's port plays that part (followMaster): when it breaks, nobody leads; when it can be made again, the
// master leads.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

// The layouts of the few library types that cross the border. In Mesos' Option<T> the state is 0 for SOME, 1 for NONE.
struct OptionString { int state = 1; std::string value; };
struct OptionMaster { int state = 1; alignas(8) char value[4096]; };
struct Object { alignas(64) char bytes[4096]; };  // room for any object the library builds in place

void* mesos;

[[noreturn]] void die(const char* what, const char* why) {
  fprintf(stderr, "mesosd: %s: %s\n", what, why);
  exit(1);
}

void* symbol(const char* name) {
  void* found = dlsym(mesos, name);
  if (found == nullptr) die("no such symbol in the library", name);
  return found;
}

template <class F> F function(const char* name) { return reinterpret_cast<F>(symbol(name)); }

void* load(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_GLOBAL);
  if (library == nullptr) die("load library", dlerror());
  return library;
}

// loadMesos loads the stand-ins for old libraries first: what is loaded already satisfies the library's wish for a
// library of that name, so that neither LD_LIBRARY_PATH nor LD_PRELOAD is needed, which executors would inherit.
void loadMesos() {
  char self[4096];
  ssize_t n = readlink("/proc/self/exe", self, sizeof self);
  if (n <= 0) die("find own directory", strerror(errno));
  std::string path(self, n);
  std::string lib = path.substr(0, path.rfind('/')) + "/lib/";
  for (const char* name : {"libcrypto.so.1.0.0", "libssl.so.1.0.0", "libcurl.so.4", "libpython2.so"}) load(lib + name);
  mesos = load(lib + "_scheduler.so");
}

// --- overwriting the entry of a function ---

constexpr size_t kJump = 12;

void overwrite(void* at, const void* bytes) {  // kJump of them
  const uintptr_t page = reinterpret_cast<uintptr_t>(at) & ~uintptr_t{4095};
  if (mprotect(reinterpret_cast<void*>(page), 8192, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) die("mprotect", strerror(errno));
  memcpy(at, bytes, kJump);
}

void jump(void* from, const void* to) {
  unsigned char code[kJump] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};  // mov rax, to; jmp rax
  memcpy(code + 2, &to, sizeof to);
  overwrite(from, code);
}

// --- an agent of another process' master ---

using Appoint = void (*)(void* detector, OptionMaster*);

Appoint appoint;                     // StandaloneMasterDetector::appoint(Option<MasterInfo>)
unsigned char appointEntry[kJump];   // its first bytes, as they were
void* detector;                      // the process' only detector, known once appoint was called
OptionMaster leader, nobody;

void appointLeader(void* self, OptionMaster*) {
  detector = self;
  overwrite(reinterpret_cast<void*>(appoint), appointEntry);
  appoint(detector, &leader);
}

// A MasterInfo, written as protobuf writes it: id = 1, ip = 2, port = 3, pid = 4, hostname = 5.
std::string masterInfo(const std::string& ip, uint32_t port) {
  std::string out;
  auto text = [&](int field, const std::string& s) { out += char(field << 3 | 2); out += char(s.size()); out += s; };
  auto number = [&](int field, uint32_t v) {
    out += char(field << 3);
    for (; v > 127; v >>= 7) out += char(v | 128);
    out += char(v);
  };
  text(1, "leader");
  number(2, inet_addr(ip.c_str()));
  number(3, port);
  text(4, "master@" + ip + ":" + std::to_string(port));
  text(5, ip);
  return out;
}

void redirectTo(const std::string& ip, int port) {
  const std::string info = masterInfo(ip, port);
  function<void (*)(void*)>("_ZN5mesos10MasterInfoC1Ev")(leader.value);
  auto parse = function<bool (*)(void*, const void*, int)>("_ZN6google8protobuf11MessageLite14ParseFromArrayEPKvi");
  if (!parse(leader.value, info.data(), int(info.size()))) die("describe master", ip.c_str());
  leader.state = 0;
  memcpy(appointEntry, reinterpret_cast<void*>(appoint), kJump);
  jump(reinterpret_cast<void*>(appoint), reinterpret_cast<void*>(appointLeader));
}

// connectTo returns a connection to the master, or -1.
int connectTo(const sockaddr_in& address) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

[[noreturn]] void followMaster(const std::string& ip, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(uint16_t(port));
  address.sin_addr.s_addr = inet_addr(ip.c_str());
  for (bool leads = true;;) {
    int fd = connectTo(address);
    if (fd >= 0 && !leads) appoint(detector, &leader);
    if (fd >= 0) {
      char byte;
      while (read(fd, &byte, 1) > 0) {}  // the master says nothing here: this ends when it is gone
      close(fd);
    }
    if (fd >= 0 || leads) appoint(detector, &nobody);
    leads = false;
    usleep(20000);
  }
}

// --- ZooKeeper ---

// zookeeper::URL: an Option<Authentication> (NONE), servers like "127.0.0.1:2181", and a path.
struct ZooKeeperUrl { int authentication = 1; alignas(8) char credentials[64]; std::string servers, path; };

ZooKeeperUrl zk;
int quorum;
const int64_t kSession = 4'000'000'000;  // a Duration, in ns: how long after its death a master still leads

void* contender() {
  static Object built;
  return built.bytes;
}

void makeDetector(void* self) {
  using Make = void (*)(void*, const ZooKeeperUrl&, const int64_t&);
  function<Make>("_ZN5mesos6master8detector23ZooKeeperMasterDetectorC1ERKN9zookeeper3URLERK8Duration")(self, zk, kSession);
}

void initializeContender(void*, void* masterInfo) {
  using Make = void (*)(void*, const ZooKeeperUrl&, const int64_t&);
  function<Make>("_ZN5mesos6master9contender24ZooKeeperMasterContenderC1ERKN9zookeeper3URLERK8Duration")(contender(), zk, kSession);
  using Initialize = void (*)(void*, void*);
  function<Initialize>("_ZN5mesos6master9contender24ZooKeeperMasterContender10initializeERKNS_10MasterInfoE")(contender(), masterInfo);
}

void* contend(void* result, void*) {
  using Contend = void* (*)(void* result, void* self);
  return function<Contend>("_ZN5mesos6master9contender24ZooKeeperMasterContender7contendEv")(result, contender());
}

// makeLog makes a replica of the masters' common registry in place of a log of one master's own.
void makeLog(void* self, int, const std::string& path, void*, bool autoInitialize, const OptionString& metricsPrefix) {
  struct { int state = 1; alignas(8) char value[64]; } noAuthentication;
  using Make = void (*)(void*, int, const std::string&, const std::string&, const int64_t&, const std::string&, void*, bool, const OptionString&);
  function<Make>("_ZN5mesos3log3LogC1EiRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES9_RK8DurationS9_RK6OptionIN9zookeeper14AuthenticationEEbRKSD_IS7_E")(
      self, quorum, path, zk.servers, kSession, zk.path + "/log_replicas", &noAuthentication, autoInitialize, metricsPrefix);
}

void appointNobody(void*, OptionMaster*) {}

// electIn makes this process look for the leader in ZooKeeper, and a master stand for election there. The idle master of an agent's
// process stands nowhere.
void electIn(const std::string& servers, bool master) {
  zk.servers = servers;
  zk.path = "/mesos";
  auto redirect = [](const char* name, auto to) { jump(symbol(name), reinterpret_cast<void*>(to)); };
  jump(reinterpret_cast<void*>(appoint), reinterpret_cast<void*>(appointNobody));
  redirect("_ZN5mesos6master8detector24StandaloneMasterDetectorC1Ev", makeDetector);
  if (!master) return;
  redirect("_ZN5mesos6master9contender25StandaloneMasterContender10initializeERKNS_10MasterInfoE", initializeContender);
  redirect("_ZN5mesos6master9contender25StandaloneMasterContender7contendEv", contend);
  redirect("_ZN5mesos3log3LogC1EiRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEERKSt3setIN7process4UPIDESt4lessISC_ESaISC_EEbRK6OptionIS7_E", makeLog);
}

// --- a bound that tests cannot wait for ---

// A master refuses an agent_reregister_timeout below 10 minutes. The code that compares it, early in Master::initialize, begins with
// mov rax, 10 minutes - 1 ns; here it gets 0 - 1 ns.
void allowAnyReregisterTimeout() {
  unsigned char tenMinutes[10] = {0x48, 0xb8}, none[kJump] = {0x48, 0xb8};
  const int64_t least = 600'000'000'000 - 1, nothing = -1;
  memcpy(tenMinutes + 2, &least, 8);
  memcpy(none + 2, &nothing, 8);
  auto code = static_cast<unsigned char*>(symbol("_ZN5mesos8internal6master6Master10initializeEv"));
  auto found = static_cast<unsigned char*>(memmem(code, 1024, tenMinutes, sizeof tenMinutes));
  if (found == nullptr) die("not found", "the bound of agent_reregister_timeout");
  memcpy(none + sizeof tenMinutes, found + sizeof tenMinutes, kJump - sizeof tenMinutes);
  overwrite(found, none);
}

// --- starting ---

void initializeLibprocess() {
  OptionString delegate, none;
  delegate.state = 0;
  delegate.value = "master";  // what a URL without the name of a process goes to
  using Initialize = void (*)(OptionString*, OptionString*, OptionString*);
  function<Initialize>(
      "_ZN7process10initializeERK6OptionINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEES9_S9_")(&delegate, &none, &none);
}

void launch(const std::string& workDir, int agents) {
  static Object flags, pid;  // local::Flags: vptr, work_dir at 8, num_slaves at 40
  function<void (*)(void*)>("_ZN5mesos8internal5local5FlagsC1Ev")(flags.bytes);
  *reinterpret_cast<std::string*>(flags.bytes + 8) = workDir;
  *reinterpret_cast<int*>(flags.bytes + 40) = agents;
  using Launch = void* (*)(void* pid, void* flags, void* allocator);
  function<Launch>("_ZN5mesos8internal5local6launchERKNS1_5FlagsEPNS_9allocator9AllocatorE")(pid.bytes, flags.bytes, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const bool agent = mode == "agent" && argc == 5;
  const bool elected = argc > 3 && std::string(argv[3]) == "zk";
  if (!agent && !(mode == "master" && argc == (elected ? 6 : 3))) {
    fprintf(stderr, "usage: mesosd master WORK_DIR [zk SERVERS QUORUM]\n"
                    "       mesosd agent WORK_DIR MASTER_IP MASTER_PORT\n       mesosd agent WORK_DIR zk SERVERS\n");
    return 2;
  }
  loadMesos();
  appoint = function<Appoint>("_ZN5mesos6master8detector24StandaloneMasterDetector7appointERK6OptionINS_10MasterInfoEE");
  if (elected && !agent) quorum = atoi(argv[5]);
  if (elected) electIn(argv[4], !agent);
  if (agent && !elected) redirectTo(argv[3], atoi(argv[4]));
  if (!agent) allowAnyReregisterTimeout();
  initializeLibprocess();
  launch(argv[2], agent ? 1 : 0);
  if (agent && !elected) followMaster(argv[3], atoi(argv[4]));
  for (;;) pause();
}
