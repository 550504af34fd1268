// Package folder reads provider repositories from a disk: a repository root, a
// folder of one provider or one of its versions, told apart by looking.
//
// Nothing outside the repository is ever read, whatever links and special files
// lie in the folder it is given, and nothing in it is silently dropped: what has
// no place in the model becomes an oddity of it. It must not know what is
// inside the files, and it never writes.
package folder
