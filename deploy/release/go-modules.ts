/** The modules of Go in this repository that are released. */

export interface GoModule {
  readonly name: string;
  /** Below that of the client. */
  readonly folder: string;
  /** Files that have to be there. */
  readonly wanted: readonly string[];
}

const GO_CLIENT = 'github.com/keyturn/keyturn/clients/go';

export const GO_MODULES: readonly GoModule[] = [
  { name: GO_CLIENT, folder: '', wanted: ['go.mod', 'LICENSE', 'README.md', 'keyturnv1/leader.pb.go'] },
  {
    name: `${GO_CLIENT}/keyturnotel`,
    folder: 'keyturnotel',
    wanted: ['go.mod', 'LICENSE', 'README.md', 'tracer.go'],
  },
];
