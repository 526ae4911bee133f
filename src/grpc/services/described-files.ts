/** The proto files of everything that is served, with all that they import, as descriptors. */
import {
  createFileRegistry,
  type DescEnum,
  type DescFile,
  type DescMessage,
  fromBinary,
  toBinary,
} from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';

export class DescribedFiles {
  readonly #bytes: Uint8Array;
  #index: Index | undefined;

  /** @param bytes a FileDescriptorSet with everything that its files import; it is read when it is first asked for */
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** The full names of all services. */
  services(): readonly string[] {
    return this.#read().services;
  }

  /** The file and all that it imports, itself first; unset: there is none. */
  named(name: string): Uint8Array[] | undefined {
    const { files } = this.#read();
    const file = files.get(name);
    return file && [...withImports(file)].map((one) => encoded(one));
  }

  /** The same for the file that defines a message, a field, an enum or a value of one, a service or a method. */
  defining(symbol: string): Uint8Array[] | undefined {
    const name = this.#read().definedIn.get(symbol);
    return name === undefined ? undefined : this.named(name);
  }

  #read(): Index {
    this.#index ??= indexOf(this.#bytes);
    return this.#index;
  }
}

interface Index {
  readonly services: readonly string[];
  readonly files: ReadonlyMap<string, DescFile>;
  /** The names of files, by symbols. Names come from strangers, so these are maps. */
  readonly definedIn: ReadonlyMap<string, string>;
}

function indexOf(bytes: Uint8Array): Index {
  const services: string[] = [];
  const files = new Map<string, DescFile>();
  const definedIn = new Map<string, string>();
  for (const file of createFileRegistry(fromBinary(FileDescriptorSetSchema, bytes)).files) {
    files.set(file.proto.name, file);
    const define = (symbol: string): void => void definedIn.set(symbol, file.proto.name);
    for (const message of file.messages) defineMessage(message, define);
    for (const one of file.enums) defineEnum(one, define);
    for (const service of file.services) {
      services.push(service.typeName);
      define(service.typeName);
      for (const method of service.methods) define(`${service.typeName}.${method.name}`);
    }
  }
  return { services, files, definedIn };
}

function defineMessage(message: DescMessage, define: (symbol: string) => void): void {
  define(message.typeName);
  for (const { name } of [...message.fields, ...message.oneofs]) define(`${message.typeName}.${name}`);
  for (const nested of message.nestedMessages) defineMessage(nested, define);
  for (const nested of message.nestedEnums) defineEnum(nested, define);
}

/** A value stands beside its enum, not in it. */
function defineEnum({ typeName, values }: DescEnum, define: (symbol: string) => void): void {
  define(typeName);
  const scope = typeName.slice(0, typeName.lastIndexOf('.') + 1);
  for (const { name } of values) define(scope + name);
}

function withImports(file: DescFile, found = new Set<DescFile>()): Set<DescFile> {
  found.add(file);
  for (const imported of file.dependencies) if (!found.has(imported)) withImports(imported, found);
  return found;
}

function encoded({ proto }: DescFile): Uint8Array {
  return toBinary(FileDescriptorProtoSchema, proto);
}
