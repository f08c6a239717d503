/* libcurl.so.4 with the symbol version Mesos was linked against (CURL_OPENSSL_3): each of the calls Mesos makes is
 * passed on to the libcurl of this machine. Only the agent's own fetching of images uses it. */
#include <dlfcn.h>
#include <stddef.h>

static void* real(const char* name) {
  static void* curl;
  if (curl == NULL) curl = dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
  return curl == NULL ? NULL : dlsym(curl, name);
}

int curl_global_init(long flags) {
  int (*call)(long) = real("curl_global_init");
  return call == NULL ? 0 : call(flags);
}
void* curl_easy_init(void) { return ((void* (*)(void))real("curl_easy_init"))(); }
void curl_easy_cleanup(void* handle) { ((void (*)(void*))real("curl_easy_cleanup"))(handle); }
int curl_easy_perform(void* handle) { return ((int (*)(void*))real("curl_easy_perform"))(handle); }
int curl_easy_setopt(void* handle, int option, void* value) {
  return ((int (*)(void*, int, ...))real("curl_easy_setopt"))(handle, option, value);
}
int curl_easy_getinfo(void* handle, int info, void* value) {
  return ((int (*)(void*, int, ...))real("curl_easy_getinfo"))(handle, info, value);
}
const char* curl_easy_strerror(int code) { return ((const char* (*)(int))real("curl_easy_strerror"))(code); }
